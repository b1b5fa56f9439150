/* SPDX-License-Identifier: Apache-2.0
 *
 * Inspecting cells, which writes nothing and needs no other process, and removing the entries of dead processes.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/crash_points.h"
#include "cells/cells.h"
#include "topic/peers.h"

static uint64_t minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static void count(const struct slr_cells *c, slipring_cells_info *out) {
    uint64_t newest;
    out->received = slr_load_acquire(&c->header->received); /* before the position: so never more than the position covers */
    out->skipped = slr_load_acquire(&c->header->skipped);
    out->position = slr_load_acquire(&c->header->position);
    out->puts = slr_cells_newest(c, &newest) ? newest + 1 : 0;
    out->lost = minus(minus(out->position, out->received), out->skipped);
}

static void describe(const struct slr_cells *c, slipring_cells_info *out) {
    struct stat status;
    if (fstat(c->fd, &status) == 0) {
        out->mode = status.st_mode & 0777;
        out->file_bytes = (uint64_t)status.st_size;
    }
    out->generation = c->generation;
    out->item_size = c->item_size;
    out->depth = c->depth;
    out->cell_count = c->cell_count;
    out->created_ns = c->header->created_ns;
    out->creator_pid = c->header->creator_pid;
    memcpy(out->format, c->header->format, c->format_size);
}

int slipring_cells_inspect(const char *bus, const char *name, slipring_cells_info *out) {
    struct slr_cells *c;
    int code = slr_cells_open(bus, name, false, &c);
    if (code) return code;
    code = slr_cells_check_file(c);
    if (!code) code = slr_cells_verify(c);
    if (!code) {
        memset(out, 0, sizeof *out);
        describe(c, out);
        count(c, out);
        out->writer_pid = slr_load_relaxed(&c->header->writer_pid);
        out->reader_pid = slr_load_relaxed(&c->header->reader_pid);
        out->writer_alive = slr_lock_held(c->fd, SLR_CELLS_WRITER_LOCK);
        out->reader_alive = slr_lock_held(c->fd, SLR_CELLS_READER_LOCK);
    }
    slr_cells_close(c);
    return code;
}

/* Free the entry if its lock is free, which proves that its owner is dead. */
static bool free_end(const struct slr_cells *c, _Atomic uint32_t *pid, uint64_t lock) {
    if (slr_load_relaxed(pid) == 0 || !slr_lock_try(c->fd, lock)) return false;
    SLR_CRASH_POINT("cells.sweep.locked");
    bool left = slr_load_relaxed(pid) != 0;
    slr_store_relaxed(pid, 0);
    slr_unlock(c->fd, lock);
    return left;
}

int slipring_cells_sweep(const char *bus, const char *name, uint32_t *swept) {
    struct slr_cells *c;
    int code = slr_cells_open(bus, name, true, &c);
    if (code) return code;
    *swept = free_end(c, &c->header->writer_pid, SLR_CELLS_WRITER_LOCK);
    *swept += free_end(c, &c->header->reader_pid, SLR_CELLS_READER_LOCK);
    slr_cells_close(c);
    return SLIPRING_OK;
}
