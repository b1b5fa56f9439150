/* SPDX-License-Identifier: Apache-2.0
 *
 * The boot id: which start of the machine a file belongs to. Nobody can hold a lock on a file from before the last start, and its
 * contents may be incomplete. Also random numbers, for generations.
 */
#ifndef SLR_BASE_BOOT_ID_H
#define SLR_BASE_BOOT_ID_H

#include <stdbool.h>
#include <stdint.h>

/* Read the random id that the kernel chose at the last start of the machine. The id is zero if it is unknown: /proc/sys is
 * hidden from this process or has no such file. Returns 0, or -1 with errno. */
int slr_boot_id(uint8_t id[16]);
bool slr_boot_id_is_known(const uint8_t id[16]);
/* Return whether the file is on a file system in memory, whose files do not survive a restart. */
bool slr_boot_id_ends_files_of(int fd);
uint64_t slr_random(void); /* never zero */

#endif
