/* SPDX-License-Identifier: Apache-2.0
 *
 * Planted defects: named mistakes in the core and the binding. A test build makes one of them on request, so that a run of
 * the tests shows that they find it. In the shipped build SLR_DEFECT is the constant false. A build with -DSLR_DEFECTS has all
 * of them; the environment variable SLIPRING_DEFECT names the one to make.
 * tests/prove/defects lists each name with the tests that must find it.
 */
#ifndef SLR_BASE_DEFECTS_H
#define SLR_BASE_DEFECTS_H

#include <stdbool.h>

#ifdef SLR_DEFECTS
bool slr_defect_chosen(const char *name);
/* Evaluated once for each use: the variable does not change while a process runs. */
#define SLR_DEFECT(name) (__extension__({ static signed char chosen = -1; \
    if (chosen < 0) chosen = slr_defect_chosen(#name); \
    chosen > 0; }))
#else
#define SLR_DEFECT(name) false
#endif
void slr_defect_do_more(void); /* an unnecessary loop, allocation and system call */

#endif
