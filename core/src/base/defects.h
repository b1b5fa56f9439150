/* SPDX-License-Identifier: Apache-2.0
 *
 * Planted defects: named mistakes that a test build of the core and the binding can be told to make, so that the
 * checks are seen to find them. In the shipped build SLR_DEFECT is the constant false. A build with -DSLR_DEFECTS
 * carries all of them, and the environment variable SLIPRING_DEFECT chooses one by its name.
 * tests/prove/defects lists each name with the checks that must find it.
 */
#ifndef SLR_BASE_DEFECTS_H
#define SLR_BASE_DEFECTS_H

#include <stdbool.h>

#ifdef SLR_DEFECTS
bool slr_defect_chosen(const char *name);
/* Asked once per place: the answer never changes while a process runs. */
#define SLR_DEFECT(name) (__extension__({ static signed char chosen = -1; \
    if (chosen < 0) chosen = slr_defect_chosen(#name); \
    chosen > 0; }))
#else
#define SLR_DEFECT(name) false
#endif
void slr_defect_do_more(void); /* a loop, an allocation and a system call that nobody needs */

#endif
