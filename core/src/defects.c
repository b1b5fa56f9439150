/* SPDX-License-Identifier: Apache-2.0
 *
 * Only part of the test build (-DSLR_DEFECTS).
 */
#include "defects.h"

#ifdef SLR_DEFECTS
#include <stdlib.h>
#include <string.h>

bool slr_defect_chosen(const char *name) {
    const char *chosen = getenv("SLIPRING_DEFECT");
    return chosen && strcmp(chosen, name) == 0;
}
#else
typedef int slr_defects_compiled_out;
#endif
