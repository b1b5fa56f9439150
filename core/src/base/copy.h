/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between private memory and payload that another process may overwrite at the same time.
 * A plain memcpy would be a data race. For some alignments it is also ten times slower in glibc.
 * Shared addresses are aligned to 8 bytes: every body and every type+sender block starts at such an address.
 *
 * An assembly loop, opaque to the compiler, copies whole cache lines. Relaxed 64-bit atomics, which C11 defines under
 * concurrent overwriting, copy the rest. Builds with a sanitizer or a shim of the atomics use the atomics only.
 * The functions are inline, because most messages have one or two lines and a call would cost as much as the copy.
 */
#ifndef SLR_BASE_COPY_H
#define SLR_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomics.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(SLR_ATOMICS_SHIM)
#define SLR_ASM_COPY 1
static inline void slr_copy_lines(void **to, const void **from, size_t lines) {
    __asm__ volatile(
        "1:\n\t"
        "movdqu (%1), %%xmm0\n\t"
        "movdqu 16(%1), %%xmm1\n\t"
        "movdqu 32(%1), %%xmm2\n\t"
        "movdqu 48(%1), %%xmm3\n\t"
        "movdqu %%xmm0, (%0)\n\t"
        "movdqu %%xmm1, 16(%0)\n\t"
        "movdqu %%xmm2, 32(%0)\n\t"
        "movdqu %%xmm3, 48(%0)\n\t"
        "add $64, %0\n\t"
        "add $64, %1\n\t"
        "dec %2\n\t"
        "jnz 1b"
        : "+r"(*to), "+r"(*from), "+r"(lines)
        :
        : "xmm0", "xmm1", "xmm2", "xmm3", "memory", "cc");
}
#endif

static inline void slr_copy_out(void *to, const void *shared, size_t size) {
#ifdef SLR_ASM_COPY
    if (size >= 64) {
        slr_copy_lines(&to, &shared, size / 64);
        size %= 64;
    }
#endif
    uint8_t *out = to;
    const _Atomic uint64_t *words = shared;
    for (; size >= 8; size -= 8, out += 8, words++) {
        uint64_t word = slr_load_relaxed(words);
        memcpy(out, &word, 8);
    }
    if (size) {
        /* The rest of the word is padding within the reserved space of the message. */
        uint64_t word = slr_load_relaxed(words);
        memcpy(out, &word, size);
    }
}

/* Write whole words: up to 7 zero bytes follow, within the reserved space of the message. */
static inline void slr_copy_in(void *shared, const void *from, size_t size) {
#ifdef SLR_ASM_COPY
    if (size >= 64) {
        slr_copy_lines(&shared, &from, size / 64);
        size %= 64;
    }
#endif
    const uint8_t *in = from;
    _Atomic uint64_t *words = shared;
    for (; size >= 8; size -= 8, in += 8, words++) {
        uint64_t word;
        memcpy(&word, in, 8);
        slr_store_relaxed(words, word);
    }
    if (size) {
        uint64_t word = 0;
        memcpy(&word, in, size);
        slr_store_relaxed(words, word);
    }
}

#endif
