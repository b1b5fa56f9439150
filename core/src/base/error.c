/* SPDX-License-Identifier: Apache-2.0
 *
 * The last error of each thread: code, argument, text, and for EXISTS and SCHEMA_MISMATCH both values. It is kept until the next
 * error; a call that succeeds does not clear it. error.h has the functions that the core calls.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/defects.h"

static _Thread_local slipring_error last;

const slipring_error *slipring_last_error(void) { return &last; }

static void begin(int code, const char *argument, int system_errno) {
    memset(&last, 0, sizeof last);
    last.code = code;
    last.system_errno = system_errno;
    snprintf(last.argument, sizeof last.argument, "%s", argument ? argument : "");
}

int slr_error(int code, const char *argument, const char *format, ...) {
    va_list args;
    begin(code, argument, 0);
    va_start(args, format);
    vsnprintf(last.message, sizeof last.message, format, args);
    va_end(args);
    return code;
}

static int differs(int code, const char *argument, const char *found, const char *asked, const char *format, va_list args) {
    begin(code, argument, 0);
    snprintf(last.found, sizeof last.found, "%s", found);
    snprintf(last.asked, sizeof last.asked, "%s", asked);
    vsnprintf(last.message, sizeof last.message, format, args);
    return code;
}

int slr_error_exists(const char *argument, const char *found, const char *asked, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = differs(SLIPRING_EXISTS, argument, found, asked, format, args);
    va_end(args);
    return code;
}

int slr_error_mismatch(const char *found, const char *asked, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = differs(SLIPRING_SCHEMA_MISMATCH, "schema", found, asked, format, args);
    va_end(args);
    return code;
}

int slr_error_errno(const char *format, ...) {
    int error = errno;
    int code = SLIPRING_SYSTEM;
    if (error == EACCES || error == EPERM) code = SLIPRING_DENIED;
    if (error == ENOSPC || error == EDQUOT) code = SLIPRING_NO_SPACE;
    if (error == ENOENT) code = SLIPRING_NOT_FOUND;
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    begin(code, "", error);
    snprintf(last.message, sizeof last.message, "%s: %s", what, SLR_DEFECT(cause_not_reported) ? "" : strerror(error));
    return code;
}

int slr_error_damaged(const char *what) {
    return slr_error(SLIPRING_CORRUPT, "topic", "%s: the topic is damaged, remove it", what);
}
