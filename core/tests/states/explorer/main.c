/* SPDX-License-Identifier: Apache-2.0
 *
 * Promise 9 and invariants 2 to 5, 8, I1, I2, I11, C1 to C5: an operation ended after any of its steps, and whoever
 * recovers ended after any of its own, disturb nobody. states.h says how; explore.c how to see one state again.
 */
#include "states.h"

int main(int argc, char **argv) {
    harness_watchdog_s = 900; /* a minute, when nobody else uses the processors */
    return harness_main(argc, argv, explore);
}
