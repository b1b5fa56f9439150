/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of a topic: bytes that its creator gave, between the payload and the end of <topic>.ring. The core does not
 * interpret them (docs/spec/schema.md). They are written before the file has a name and never change. They are not mapped: a
 * process that needs them reads them from the file and compares them with the hash in the header.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/defects.h"
#include "base/error.h"
#include "topic/files.h"
#include "topic/segment.h"

#define AT_ONCE 4096 /* bytes compared at a time */

static uint64_t hash_of(const uint8_t *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return hash;
}

int slr_schema_write(int fd, const slipring_settings *settings, uint64_t offset, uint64_t *hash) {
    *hash = 0;
    if (!settings->schema_size) return SLIPRING_OK;
    *hash = hash_of(settings->schema, settings->schema_size);
    return slr_file_write(fd, settings->schema, settings->schema_size, offset) ? SLIPRING_OK
                                                                               : slr_error_errno("cannot write the topic's schema");
}

int slr_segment_schema(const struct slr_segment *s, void *buffer, size_t room, size_t *size) {
    *size = s->schema_size;
    int code = slr_segment_check(s);
    if (code || !*size || *size > room) return code;
    if (!slr_file_read(s->ring_fd, buffer, *size, s->schema_offset)) return slr_error_errno("cannot read the topic's schema");
    if (hash_of(buffer, *size) != s->schema_hash && !SLR_DEFECT(schema_hash_ignored))
        return slr_error_damaged("the schema does not have the hash of the header");
    return SLIPRING_OK;
}

static int mismatch(const struct slr_segment *s, const slipring_settings *settings, const char *topic) {
    char found[64] = "no schema", asked[64];
    if (s->schema_size) snprintf(found, sizeof found, "a schema of %u bytes", s->schema_size);
    snprintf(asked, sizeof asked, "%s of %zu bytes", s->schema_size ? "another one" : "a schema", settings->schema_size);
    return slr_error_mismatch(found, asked, "topic '%s' exists with %s, asked for %s: omit schema to use the existing one, or remove "
                                            "the topic first", topic, found, asked);
}

int slr_segment_match_schema(const struct slr_segment *s, const slipring_settings *settings, const char *topic) {
    const uint8_t *asked = settings->schema;
    if (!settings->schema_size || SLR_DEFECT(other_schema_accepted)) return SLIPRING_OK;
    if (s->schema_size != settings->schema_size) return mismatch(s, settings, topic);
    for (size_t done = 0, part; done < settings->schema_size; done += part) {
        uint8_t found[AT_ONCE];
        part = settings->schema_size - done < sizeof found ? settings->schema_size - done : sizeof found;
        if (!slr_file_read(s->ring_fd, found, part, s->schema_offset + done)) return slr_error_errno("cannot read the topic's schema");
        if (memcmp(found, asked + done, part) != 0) return mismatch(s, settings, topic);
    }
    return SLIPRING_OK;
}
