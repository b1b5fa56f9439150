// SPDX-License-Identifier: Apache-2.0
// The schema of a topic: section 6 of docs/spec/memory-layout.md. Fixed layouts of numbers: docs/spec/schema.md, section 5.2.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shared.h"

uint8_t *topic_schema(const struct topic *t)
{
    uint8_t *bytes = malloc(t->schema_size + 1);
    for (uint32_t done = 0; done < t->schema_size;) {
        ssize_t got = pread(t->ring_lock, bytes + done, t->schema_size - done, (off_t)(t->schema_at + done));
        if (got <= 0)
            fail(EXIT_CORRUPT, "the schema cannot be read");
        done += (uint32_t)got;
    }
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t k = 0; k < t->schema_size; k++)
        hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
    if (t->schema_size && hash != t->schema_hash)
        fail(EXIT_CORRUPT, "the schema has another hash than its header");
    bytes[t->schema_size] = 0;
    return bytes;
}

// The next text in quotes from *at; *at is behind it.
static const char *quoted(const char **at, const char *key)
{
    const char *begin = strstr(*at, key);
    if (!begin)
        return NULL;
    begin += strlen(key);
    *at = begin + strcspn(begin, "\"");
    return begin;
}

// Canonical documents have sorted keys and no white space, so a search is enough for structures of numbers.
uint32_t fields_of(const char *schema, struct field_place *fields, uint32_t most, uint32_t *size)
{
    const char *layout = strstr(schema, "\"layout\":[["), *at = strstr(schema, "\"type\":{\"fields\":[");
    if (!strstr(schema, "\"encoding\":\"numpy\"") || !layout || !at || strstr(at, "\"item\":"))
        fail(EXIT_USAGE, "only structures of numbers with a fixed layout are decoded");
    char *offsets;
    *size = (uint32_t)strtoul(layout + strlen("\"layout\":[["), &offsets, 10);
    for (uint32_t count = 0; count < most; count++) {
        struct field_place *f = &fields[count];
        const char *name = quoted(&at, "{\"name\":\""), *name_end = at;
        if (!name)
            return count;
        const char *type = quoted(&at, "\"type\":\"");
        if (!type || *offsets != ',')
            fail(EXIT_USAGE, "only numbers are decoded");
        snprintf(f->name, sizeof f->name, "%.*s", (int)(name_end - name), name);
        snprintf(f->type, sizeof f->type, "%.*s", (int)(at - type), type);
        f->offset = (uint32_t)strtoul(offsets + 1, &offsets, 10);
    }
    fail(EXIT_USAGE, "too many fields");
}

static void print_number(const char *type, const uint8_t *at)
{
    int64_t number = 0;
    double real;
    float small;
    if (strcmp(type, "float64") == 0) {
        memcpy(&real, at, sizeof real);
        printf("%.17g", real);
    } else if (strcmp(type, "float32") == 0) {
        memcpy(&small, at, sizeof small);
        printf("%.17g", (double)small);
    } else if (strcmp(type, "bool") == 0) {
        printf(*at ? "True" : "False");
    } else {
        bool is_unsigned = type[0] == 'u';
        bool is_int = strncmp(type + is_unsigned, "int", 3) == 0; // else a timestamp or a duration
        unsigned size = is_int ? (unsigned)atoi(type + is_unsigned + 3) / 8 : 8;
        if (size < 1 || size > 8)
            fail(EXIT_USAGE, "type %s is not decoded", type);
        memcpy(&number, at, size);
        if (is_unsigned)
            printf("%llu", (unsigned long long)number);
        else
            printf("%lld", (long long)(number << (64 - 8 * size) >> (64 - 8 * size)));
    }
}

void print_record(const struct field_place *fields, uint32_t count, const uint8_t *body)
{
    putchar('{');
    for (uint32_t k = 0; k < count; k++) {
        printf("'%s': ", fields[k].name);
        print_number(fields[k].type, body + fields[k].offset);
        printf(k + 1 < count ? ", " : "}\n");
    }
    fflush(stdout);
}
