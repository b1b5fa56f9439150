/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of the test build only (-DSLR_DEFECTS).
 */
#include "base/defects.h"

#ifdef SLR_DEFECTS
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool slr_defect_chosen(const char *name) {
    const char *chosen = getenv("SLIPRING_DEFECT");
    return chosen && strcmp(chosen, name) == 0;
}

void slr_defect_do_more(void) {
    for (volatile int i = 0; i < 20; i++) continue;
    void *volatile memory = malloc(8);
    free(memory);
    getppid();
}
#else
typedef int slr_defects_compiled_out;
#endif
