/* SPDX-License-Identifier: Apache-2.0
 *
 * For wrappers of syscall(): its arguments. Every system call that the core makes by number has at most six.
 */
#ifndef SYSCALL_WORDS_H
#define SYSCALL_WORDS_H

#include <stdarg.h>
#include <stdint.h>

enum { SYSCALL_WORDS = 6 };

static inline void syscall_words(va_list list, uintptr_t words[SYSCALL_WORDS]) {
    for (int i = 0; i < SYSCALL_WORDS; i++) words[i] = va_arg(list, uintptr_t);
}

#endif
