/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions on cells: create, remove, stats, sweep.
 */
#include "native.h"

#include <string.h>

/* cells_create(bus, name, item_size or 0, depth or 0, mode or 0, format, exist_ok) */
PyObject *cells_create(PyObject *module, PyObject *args) {
    const char *bus, *name;
    unsigned long long item_size;
    Py_ssize_t format_size;
    int exist_ok, code;
    slipring_cells_settings how = {0};
    (void)module;
    if (!PyArg_ParseTuple(args, "ssKIIs#p", &bus, &name, &item_size, &how.depth, &how.mode, &how.format, &format_size,
                          &exist_ok))
        return NULL;
    how.item_size = item_size;
    how.format_size = (size_t)format_size;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_cells_create(bus, name, &how, exist_ok != 0);
    Py_END_ALLOW_THREADS
    if (code) return raise_code_at(code, bus);
    Py_RETURN_NONE;
}

PyObject *cells_remove(PyObject *module, PyObject *args) {
    const char *bus, *name;
    int code;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &name)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_cells_remove(bus, name);
    Py_END_ALLOW_THREADS
    if (code) return raise_code_at(code, bus);
    Py_RETURN_NONE;
}

PyObject *cells_sweep(PyObject *module, PyObject *args) {
    const char *bus, *name;
    uint32_t swept = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &name)) return NULL;
    int code = slipring_cells_sweep(bus, name, &swept);
    return code ? raise_code_at(code, bus) : PyLong_FromUnsignedLong(swept);
}

/* One row for an end, or none: for whoever is there, or died there. */
static PyObject *end_rows(uint32_t pid, bool alive) {
    if (!pid && !alive) return PyList_New(0);
    return Py_BuildValue("[{sIsN}]", "pid", (unsigned)pid, "alive", PyBool_FromLong(alive));
}

PyObject *cells_stats(PyObject *module, PyObject *args) {
    const char *bus, *name;
    slipring_cells_info i;
    (void)module;
    if (!PyArg_ParseTuple(args, "ss", &bus, &name)) return NULL;
    int code = slipring_cells_inspect(bus, name, &i);
    if (code) return raise_code_at(code, bus);
    return Py_BuildValue("{sNsKsIsIsIsKsLsIsKsKsKsKsKsKsKsNsN}", "format",
                         PyUnicode_DecodeUTF8(i.format, (Py_ssize_t)strlen(i.format), "replace"), "size",
                         (unsigned long long)i.item_size, "depth", (unsigned)i.depth, "cells", (unsigned)i.cell_count, "mode",
                         (unsigned)i.mode, "generation", (unsigned long long)i.generation, "created_ns",
                         (long long)i.created_ns, "creator_pid", (unsigned)i.creator_pid, "file_bytes",
                         (unsigned long long)i.file_bytes, "puts", (unsigned long long)i.puts, "position",
                         (unsigned long long)i.position, "lag", (unsigned long long)(i.puts > i.position ? i.puts - i.position : 0),
                         "received", (unsigned long long)i.received, "lost", (unsigned long long)i.lost, "skipped",
                         (unsigned long long)i.skipped, "writers", end_rows(i.writer_pid, i.writer_alive), "readers",
                         end_rows(i.reader_pid, i.reader_alive));
}
