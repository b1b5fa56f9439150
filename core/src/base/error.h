/* SPDX-License-Identifier: Apache-2.0
 *
 * How a function of the core reports an error: it fills the slipring_error of this thread and returns its code.
 */
#ifndef SLR_BASE_ERROR_H
#define SLR_BASE_ERROR_H

#include "base/hot_path.h"
#include "slipring.h"

SLR_COLD __attribute__((format(printf, 3, 4))) int slr_error(int code, const char *argument, const char *format, ...);
/* Report errno: DENIED, NO_SPACE, NOT_FOUND or SYSTEM. format: the operation that failed. */
SLR_COLD __attribute__((format(printf, 1, 2))) int slr_error_errno(const char *format, ...);
SLR_COLD __attribute__((format(printf, 4, 5))) int slr_error_exists(const char *argument, const char *found,
                                                                      const char *asked, const char *format, ...);
SLR_COLD __attribute__((format(printf, 3, 4))) int slr_error_mismatch(const char *found, const char *asked, const char *format, ...);
SLR_COLD int slr_error_damaged(const char *what); /* SLIPRING_CORRUPT */

#endif
