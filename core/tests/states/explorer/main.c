/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 9 and invariants 2 to 5, 8, I1, I2, I11, C1 to C5: an operation that ends after any of its steps
 * disturbs no other process. Nor does a recoverer that ends after any of its own. states.h describes the
 * method, and explore.c how to repeat one state.
 */
#include "states.h"

int main(int argc, char **argv) {
    harness_watchdog_s = 900; /* a minute, when nobody else uses the processors */
    return harness_main(argc, argv, explore);
}
