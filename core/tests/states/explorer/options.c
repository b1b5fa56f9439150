/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "states.h"

const char *option(const char *name) {
    size_t size = strlen(name);
    for (char **argument = harness_arguments; *argument; argument++)
        if (!strncmp(*argument, name, size) && (*argument)[size] == '=') return *argument + size + 1;
    return NULL;
}

uint32_t option_number(const char *name) {
    const char *text = option(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

bool asked(const char *name, const char *is) {
    const char *text = option(name);
    return !text || !strcmp(text, is);
}
