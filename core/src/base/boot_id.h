/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLR_BASE_BOOT_ID_H
#define SLR_BASE_BOOT_ID_H

#include <stdbool.h>
#include <stdint.h>

/* The kernel's random id of this start of the machine; zero where it cannot be known, because /proc/sys is hidden from this
 * process or has no such file. 0, or -1 with errno. */
int slr_boot_id(uint8_t id[16]);
bool slr_boot_id_is_known(const uint8_t id[16]);
/* Whether this file system is in memory: its files do not outlive the present boot. */
bool slr_boot_id_ends_files_of(int fd);
uint64_t slr_random(void); /* never zero */

#endif
