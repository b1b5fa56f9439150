/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of cells: created completely or not at all, checked once in private memory, mapped, removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/crash_points.h"
#include "base/defects.h"
#include "base/error.h"
#include "cells/cells.h"
#include "topic/files.h"
#include "wait/death_wake.h"
#include "wait/futex.h"

#define SUFFIX "cells"
#define FILE_CHECK_NS 100000000
#define POPULATE_UP_TO (UINT64_C(256) << 20)

int slr_cells_corrupt(const char *what) {
    return slr_error(SLIPRING_CORRUPT, "topic", "the cells are damaged: %s; remove them and create them again", what);
}

/* Geometry ---------------------------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

/* Compute the geometry from depth and item_size; false if one is out of range. */
static bool compute_geometry(struct slr_cells_header *h) {
    if (h->depth < 1 || h->depth > SLR_CELLS_MAX_DEPTH || h->item_size < 1 || h->item_size > SLR_CELLS_MAX_ITEM) return false;
    h->page_size = SLR_PAGE;
    h->cell_count = 2 * h->depth + 1;
    h->cell_stride = round_up(h->item_size, SLR_CELLS_LINE);
    h->slots_offset = SLR_PAGE;
    h->cells_offset = round_up(h->slots_offset + (uint64_t)h->depth * SLR_CELLS_SLOT_SIZE, SLR_PAGE);
    h->file_size = round_up(h->cells_offset + h->cell_count * h->cell_stride, SLR_PAGE);
    return true;
}

static int check_settings(const char *name, const slipring_cells_settings *s) {
    int code = slipring_check_name("topic", name);
    if (!code) code = slr_mode_check(s->mode);
    if (code) return code;
    if (s->depth > SLR_CELLS_MAX_DEPTH)
        return slr_error(SLIPRING_BAD_ARGUMENT, "depth", "depth=%u is out of range: at most %u", s->depth, SLR_CELLS_MAX_DEPTH);
    if (s->item_size > SLR_CELLS_MAX_ITEM)
        return slr_error(SLIPRING_BAD_ARGUMENT, "size", "an element of %" PRIu64 " bytes is too large: at most %" PRIu64,
                         s->item_size, SLR_CELLS_MAX_ITEM);
    if (s->format_size > SLIPRING_MAX_FORMAT)
        return slr_error(SLIPRING_BAD_ARGUMENT, "dtype", "the description of dtype has %zu bytes; at most %d are allowed", s->format_size,
                         SLIPRING_MAX_FORMAT);
    return SLIPRING_OK;
}

/* Creating ---------------------------------------------------------------------------------------------------- */

static void fill_header(struct slr_cells_header *h, const slipring_cells_settings *s) {
    h->magic = SLR_CELLS_MAGIC;
    h->version = SLR_LAYOUT_VERSION;
    h->layout_hash = slipring_layout_hash_of(SUFFIX);
    h->generation = slr_random();
    h->creator_pid = (uint32_t)getpid();
    h->created_ns = slr_clock_realtime_ns();
    h->format_size = (uint32_t)s->format_size;
    if (s->format_size) memcpy(h->format, s->format, s->format_size);
    /* Nothing was put yet: the first put owns the last cell and gets the cell that slot 0 keeps. */
    uint64_t own = h->cell_count - 1, get = h->depth, keep = 0;
    h->intent[0] = own | get << SLR_CELLS_NUMBER_BITS | keep << 2 * SLR_CELLS_NUMBER_BITS;
    h->intent[1] = h->intent[0];
}

static int write_slots(int fd, const struct slr_cells_header *h) {
    struct slr_cells_slot slot;
    memset(&slot, 0, sizeof slot);
    for (uint64_t i = 0; i < h->depth; i++) {
        slot.word = i << 1 | SLR_CELLS_TAKEN; /* lap 0: there is nothing to take */
        slot.kept = h->depth + i;
        if (!slr_file_write(fd, &slot, sizeof slot, h->slots_offset + i * sizeof slot))
            return slr_error_errno("cannot write the new cells");
    }
    return SLIPRING_OK;
}

static int create_locked(int directory, const char *name, const slipring_cells_settings *s) {
    struct slr_cells_header h;
    int fd = -1;
    memset(&h, 0, sizeof h);
    h.depth = s->depth ? s->depth : SLR_CELLS_DEFAULT_DEPTH;
    h.item_size = s->item_size;
    compute_geometry(&h);
    fill_header(&h, s);
    int code = slr_file_make(directory, h.file_size, s->mode ? s->mode : 0600, "depth", &fd);
    SLR_CRASH_POINT("cells.create.made");
    if (!code) code = slr_file_boot_id(fd, name, SUFFIX, h.boot_id);
    if (!code) code = slr_file_write_header(fd, &h, sizeof h);
    if (!code) code = write_slots(fd, &h);
    SLR_CRASH_POINT("cells.create.before_link");
    if (!code) code = slr_file_link(fd, directory, name, SUFFIX);
    SLR_CRASH_POINT("cells.create.done");
    if (fd >= 0) close(fd);
    return code;
}

static int create(const char *bus, const char *name, const slipring_cells_settings *s) {
    int directory;
    int code = slr_bus_lock(bus, name, SUFFIX, &directory);
    if (code) return code;
    code = slr_name_check_free(directory, name, SUFFIX);
    if (!code) code = create_locked(directory, name, s);
    if (!code || !SLR_DEFECT(bus_lock_kept_after_failure)) slr_bus_unlock(directory);
    return code;
}

/* Copy as much text as an error holds, in printable characters whatever the file contains. */
static void quote(char out[64], const void *text, size_t size) {
    size_t length = size < 63 ? size : 63;
    for (size_t i = 0; i < length; i++) {
        char c = ((const char *)text)[i];
        out[i] = c < ' ' || c > '~' ? '?' : c;
    }
    out[length] = 0;
}

static int differs(const char *name, const char *argument, const char *found, const char *asked) {
    return slr_error_exists(argument, found, asked,
                            "cells '%s' exist with %s=%.80s, asked for %.80s: omit %s to use the existing value, or remove "
                            "the cells first",
                            name, argument, found, asked, argument);
}

static int check_match(const struct slr_cells *c, const slipring_cells_settings *s, const char *name) {
    char found[64], asked[64];
    if (s->depth && s->depth != c->depth) {
        snprintf(found, sizeof found, "%u", c->depth);
        snprintf(asked, sizeof asked, "%u", s->depth);
        return differs(name, "depth", found, asked);
    }
    bool same_format = s->format_size == c->format_size &&
                       (s->format_size == 0 || memcmp(s->format, c->header->format, s->format_size) == 0);
    if (SLR_DEFECT(other_dtype_accepted)) return SLIPRING_OK;
    if (s->item_size == 0 || (s->item_size == c->item_size && same_format)) return SLIPRING_OK;
    quote(found, c->header->format, c->format_size);
    quote(asked, s->format, s->format_size);
    return differs(name, "dtype", found, asked);
}

int slipring_cells_create(const char *bus, const char *name, const slipring_cells_settings *settings, bool exist_ok) {
    struct slr_cells *c;
    int code = check_settings(name, settings);
    if (code) return code;
    /* Another process may remove the cells before they are opened: try again. */
    for (int attempt = 0; attempt < 100; attempt++) {
        code = settings->item_size ? create(bus, name, settings) : SLIPRING_EXISTS;
        if (code != SLIPRING_EXISTS) return code;
        if (settings->item_size && (!exist_ok || slr_name_is_other_kind())) return code;
        code = slr_cells_open(bus, name, false, &c);
        if (code != SLIPRING_NOT_FOUND || settings->item_size == 0) break;
    }
    if (code) return code;
    code = check_match(c, settings, name);
    slr_cells_close(c);
    return code;
}

/* Opening ----------------------------------------------------------------------------------------------------- */

static int check_header(int fd, const char *name, const struct slr_cells_header *h, uint64_t file_size) {
    int code = slr_file_check_signature(name, SUFFIX, h->magic == SLR_CELLS_MAGIC, h->version,
                                        h->layout_hash == slipring_layout_hash_of(SUFFIX));
    if (code) return code;
    struct slr_cells_header right = {.depth = h->depth, .item_size = h->item_size};
    if (!compute_geometry(&right) || h->page_size != right.page_size || h->cell_count != right.cell_count ||
        h->cell_stride != right.cell_stride || h->slots_offset != right.slots_offset ||
        h->cells_offset != right.cells_offset || h->file_size != right.file_size ||
        (h->format_size > SLIPRING_MAX_FORMAT && !SLR_DEFECT(format_of_any_length)))
        return slr_file_corrupt(name, SUFFIX, "its header is not consistent");
    if (file_size != right.file_size && !SLR_DEFECT(cells_of_any_length))
        return slr_file_corrupt(name, SUFFIX, "it was truncated or extended");
    return slr_file_check_boot(fd, name, SUFFIX, h->boot_id);
}

static int map(struct slr_cells *c, int fd, const struct slr_cells_header *h, bool writable) {
    bool populate = writable && h->file_size <= POPULATE_UP_TO; /* inspection touches few pages */
    void *base = mmap(NULL, h->file_size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                      MAP_SHARED | (populate ? MAP_POPULATE : 0), fd, 0);
    if (base == MAP_FAILED) return slr_error_errno("cannot map the cells");
    c->span = h->file_size;
    c->header = base;
    c->slot = (struct slr_cells_slot *)((uint8_t *)base + h->slots_offset);
    c->cell = (uint8_t *)base + h->cells_offset;
    c->generation = h->generation;
    c->item_size = h->item_size;
    c->stride = h->cell_stride;
    c->depth = h->depth;
    c->cell_count = h->cell_count;
    c->format_size = h->format_size;
    c->cell_bits = 64u - (uint32_t)__builtin_clzll(h->cell_count - 1);
    c->last_lap = UINT64_MAX >> (c->cell_bits + 1);
    return SLIPRING_OK;
}

/* Use another descriptor for the mapping and close it afterwards. */
static int check_and_map(struct slr_cells *c, int directory, const char *name, bool writable) {
    int fd = slr_file_open_again(directory, name, SUFFIX, writable ? O_RDWR : O_RDONLY, c->fd);
    if (fd < 0) return slr_file_open_error(name, SUFFIX);
    struct slr_cells_header h;
    uint64_t file_size = 0;
    int code = slr_file_read_header(fd, name, SUFFIX, &h, sizeof h, &file_size);
    if (!code) code = check_header(fd, name, &h, file_size);
    if (!code) code = map(c, fd, &h, writable);
    close(fd);
    return code;
}

static int open_once(int directory, const char *name, bool writable, struct slr_cells **out) {
    struct slr_cells *c = calloc(1, sizeof *c);
    if (!c) return slr_error_errno("cannot open '%s'", name);
    c->fd = -1;
    slr_fork_defer();
    c->fork_generation = slr_fork_register(&c->fork_handle, &c->fd, NULL);
    c->fd = slr_file_open(directory, name, SUFFIX, writable ? O_RDWR : O_RDONLY);
    int code = c->fd < 0 ? slr_file_open_error(name, SUFFIX) : SLIPRING_OK;
    slr_fork_allow();
    if (!code) code = check_and_map(c, directory, name, writable);
    if (code)
        slr_cells_close(c);
    else
        *out = c;
    return code;
}

int slr_cells_open(const char *bus, const char *name, bool writable, struct slr_cells **out) {
    int directory;
    int code = slipring_check_name("topic", name);
    if (!code) code = slr_bus_open(bus, name, SUFFIX, &directory);
    if (code) return code;
    /* The cells may be removed and created again between the two opens: try again. */
    for (int attempt = 0; attempt < 4; attempt++) {
        code = open_once(directory, name, writable, out);
        if (code != SLIPRING_NOT_FOUND) break;
    }
    close(directory);
    return code;
}

void slr_cells_close(struct slr_cells *c) {
    slr_fork_close(&c->fork_handle);
    if (c->span) munmap(c->header, c->span);
    free(c);
}

int slr_cells_check(const struct slr_cells *c) {
    if (c->fork_generation != slr_fork_generation())
        return slr_error(SLIPRING_FORKED, "", "this handle was opened before fork(): open a new one in the child");
    if (slr_load_relaxed(&c->header->removed)) return slr_error(SLIPRING_TOPIC_GONE, "topic", "the cells were removed");
    return SLIPRING_OK;
}

int slr_cells_check_file(struct slr_cells *c) {
    int code = slr_cells_check(c);
    if (code || !slr_file_deleted(c->fd)) return code;
    return slr_error(SLIPRING_TOPIC_GONE, "topic", "the cells' file was deleted");
}

int slr_cells_check_often(struct slr_cells *c) {
    int64_t now = slr_tsc_clock_now_ns(&c->clock);
    if (now < c->next_file_check_ns && c->next_file_check_ns - now <= FILE_CHECK_NS) return slr_cells_check(c);
    c->next_file_check_ns = now + FILE_CHECK_NS;
    return slr_cells_check_file(c);
}

int slipring_cells_remove(const char *bus, const char *name) {
    int directory;
    int code = slipring_check_name("topic", name);
    if (!code) code = slr_bus_lock(bus, name, SUFFIX, &directory);
    if (code) return code;
    /* Damaged cells cannot be opened but can be removed. Without write permission they are not removed. After a system error they
     * are not removed either, because their users must be woken. */
    struct slr_cells *c = NULL;
    code = slr_cells_open(bus, name, true, &c);
    if (c) slr_death_wake_set(&c->header->death_wake);
    if (code != SLIPRING_DENIED && code != SLIPRING_SYSTEM) code = slr_file_unlink(directory, name, SUFFIX);
    SLR_CRASH_POINT("cells.remove.unlinked");
    if (c && !code) {
        slr_store_release(&c->header->removed, 1);
        slr_wake_all(&c->header->wake);
    }
    if (c) {
        slr_death_wake_clear();
        slr_cells_close(c);
    }
    slr_bus_unlock(directory);
    return code;
}
