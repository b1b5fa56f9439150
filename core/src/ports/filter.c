/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters: which messages a subscriber receives. A message passes if its type is one of the wanted ones, and neither its type nor
 * its sender nor its publisher is ignored. A subscriber has a private copy of the lists. Type and sender are copied from shared
 * memory before they are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/copy.h"
#include "base/defects.h"
#include "base/error.h"
#include "ports/read.h"

struct text_list {
    slipring_text *texts;
    size_t count;
};

struct slr_filter {
    bool only_types, ignore_own;
    struct text_list types, ignore_types, ignore_senders;
    uint32_t own_entry;
    uint64_t own_since;
};

static bool copy_list(const slipring_text *from, size_t count, struct text_list *to) {
    to->texts = calloc(count ? count : 1, sizeof *to->texts);
    if (!to->texts) return false;
    for (; to->count < count; to->count++) {
        const slipring_text *text = &from[to->count];
        char *copy = malloc(text->size + 1);
        if (!copy) return false;
        memcpy(copy, text->data, text->size);
        to->texts[to->count] = (slipring_text){.data = copy, .size = text->size};
    }
    return true;
}

static void free_list(struct text_list *list) {
    for (size_t i = 0; i < list->count; i++) free((void *)(uintptr_t)list->texts[i].data);
    free(list->texts);
}

static bool contains(const struct text_list *list, const char *data, size_t size) {
    for (size_t i = 0; i < list->count; i++)
        if (SLR_DEFECT(filters_compare_prefixes) && list->texts[i].size < size) {
            if (memcmp(list->texts[i].data, data, list->texts[i].size) == 0) return true;
        } else if (list->texts[i].size == size && memcmp(list->texts[i].data, data, size) == 0) return true;
    return false;
}

int slr_filter_copy(const slipring_filter *from, struct slr_filter **out) {
    *out = NULL;
    if (!from || (!from->only_types && !from->ignore_own && !from->ignore_type_count && !from->ignore_sender_count))
        return SLIPRING_OK;
    struct slr_filter *f = calloc(1, sizeof *f);
    if (!f) return slr_error_errno("cannot copy the filter");
    f->only_types = from->only_types;
    f->ignore_own = from->ignore_own;
    f->own_entry = from->own_entry;
    f->own_since = from->own_since;
    if (!copy_list(from->types, from->type_count, &f->types) ||
        !copy_list(from->ignore_types, from->ignore_type_count, &f->ignore_types) ||
        !copy_list(from->ignore_senders, from->ignore_sender_count, &f->ignore_senders)) {
        slr_filter_free(f);
        return slr_error_errno("cannot copy the filter");
    }
    *out = f;
    return SLIPRING_OK;
}

void slr_filter_free(struct slr_filter *f) {
    if (!f) return;
    free_list(&f->types);
    free_list(&f->ignore_types);
    free_list(&f->ignore_senders);
    free(f);
}

static bool passes(const struct slr_filter *f, uint32_t writer, uint64_t seq, const char *type, size_t type_size,
                   const char *sender, size_t sender_size) {
    /* Identify own messages by the writer entry, not by name: since own_since the entry belongs to this process alone. */
    if (f->ignore_own && writer == f->own_entry && seq >= f->own_since) return false;
    if (f->only_types && !contains(&f->types, type, type_size)) return false;
    return !contains(&f->ignore_types, type, type_size) && !contains(&f->ignore_senders, sender, sender_size);
}

int slr_filter_message(slipring_subscriber *sub, uint64_t word, const slipring_message *m) {
    if (!sub->filter) return SLIPRING_OK;
    char meta[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER + 8];
    slr_copy_out(meta, m->meta, (size_t)m->type_size + m->sender_size);
    if (!slr_intact(sub, m->seq)) return SLIPRING_LAPPED;
    bool wanted = passes(sub->filter, slr_word_writer(word), m->seq, meta, m->type_size, meta + m->type_size,
                         m->sender_size);
    return wanted ? SLIPRING_OK : SLIPRING_EMPTY;
}
