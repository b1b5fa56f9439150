/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLR_BOOT_H
#define SLR_BOOT_H

#include <stdint.h>

/* The kernel's random id of this start of the machine; zero where there is none. 0, or -1 with errno. */
int slr_boot_id(uint8_t id[16]);
uint64_t slr_random(void); /* never zero */

#endif
