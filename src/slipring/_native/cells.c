/* SPDX-License-Identifier: Apache-2.0
 *
 * The two ends of cells, and functions on their files. Python code interprets the contents of a cell: it gets the memory as
 * regions, and the numbers of cells.
 *
 * A region keeps the mapping of its end, and with it the lock of the end. There are three kinds: all cells; the cell that is
 * being filled (a slot, one at a time); all cells, borrowed. While borrowed regions exist, nothing is taken, because the
 * cells would be given back to the writer.
 */
#include "native.h"

#include <string.h>

typedef struct End {
    PyObject_HEAD
    slipring_cells_writer *writer; /* one of the two */
    slipring_cells_reader *reader;
    slipring_cells_shape shape;
    struct handle handle;
    uint64_t slot; /* of a writer: number of the open slot; 0: none */
    uint64_t slots;
    int borrowed; /* of a reader: regions whose contents must not change */
    slipring_cells_counts last_counts;
} End;

static PyTypeObject *writer_type, *reader_type;

/* Life ------------------------------------------------------------------------------------------------------ */

static const char *noun(const End *self) { return Py_TYPE((PyObject *)self) == reader_type ? "reader" : "writer"; }
static bool is_open(const End *self) { return (self->writer || self->reader) && !self->handle.closing; }

static bool end_enter(End *self) {
    if (!is_open(self)) {
        raise_closed(noun(self));
        return false;
    }
    self->handle.users++;
    handle_lock(&self->handle);
    return true;
}

static void close_core(End *self) {
    if (self->reader) slipring_cells_reader_counts(self->reader, &self->last_counts);
    if (self->writer) slipring_cells_writer_close(self->writer);
    if (self->reader) slipring_cells_reader_close(self->reader);
    self->writer = NULL;
    self->reader = NULL;
}

static void end_unpin(End *self) {
    self->handle.users--;
    if (self->handle.users == 0 && self->handle.closing) close_core(self);
}

static void end_leave(End *self) {
    handle_unlock(&self->handle);
    end_unpin(self);
}

static PyObject *end_new(PyTypeObject *type, PyObject *args, bool writes) {
    const char *bus, *name;
    int code = SLIPRING_OK;
    if (!PyArg_ParseTuple(args, "ss", &bus, &name)) return NULL;
    End *self = (End *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    if (handle_init(&self->handle)) {
        slipring_cells_writer *writer = NULL;
        slipring_cells_reader *reader = NULL;
        Py_BEGIN_ALLOW_THREADS
        code = writes ? slipring_cells_writer_open(bus, name, &writer) : slipring_cells_reader_open(bus, name, &reader);
        Py_END_ALLOW_THREADS
        if (code) raise_code_at(code, bus);
        self->writer = writer;
        self->reader = reader;
    }
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    if (writes) slipring_cells_writer_shape(self->writer, &self->shape);
    else slipring_cells_reader_shape(self->reader, &self->shape);
    return (PyObject *)self;
}

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    return end_new(type, args, true);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)kwargs;
    return end_new(type, args, false);
}

static void end_dealloc(PyObject *object) {
    End *self = (End *)object;
    PyTypeObject *type = Py_TYPE(object);
    close_core(self);
    handle_clear(&self->handle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *end_close(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    (void)ignored;
    if (is_open(self)) {
        self->handle.closing = true;
        if (self->reader) slipring_cells_reader_interrupt(self->reader);
        if (self->handle.users == 0) close_core(self);
    }
    Py_RETURN_NONE;
}

static PyObject *end_closed(PyObject *object, void *ignored) {
    (void)ignored;
    return PyBool_FromLong(!is_open((End *)object));
}

/* (bytes of an element, bytes from cell to cell, depth, cells) */
static PyObject *end_shape(PyObject *object, PyObject *ignored) {
    const slipring_cells_shape *s = &((End *)object)->shape;
    (void)ignored;
    return Py_BuildValue("KKII", (unsigned long long)s->item_size, (unsigned long long)s->stride, s->depth, s->cell_count);
}

/* Regions --------------------------------------------------------------------------------------------------- */

static void region_done(PyObject *owner, uint64_t ignored) {
    (void)ignored;
    end_unpin((End *)owner);
}

static void borrowed_done(PyObject *owner, uint64_t ignored) {
    (void)ignored;
    ((End *)owner)->borrowed--;
    end_unpin((End *)owner);
}

/* The last buffer that could write into the cell is gone. */
static void slot_done(PyObject *owner, uint64_t number) {
    End *self = (End *)owner;
    if (self->slot == number) self->slot = 0;
    end_unpin(self);
}

static PyObject *pinned_region(End *self, uint32_t cell, bool all, void (*done)(PyObject *, uint64_t), uint64_t number) {
    uint8_t *data = (uint8_t *)self->shape.cells + (all ? 0 : cell * self->shape.stride);
    size_t size = all ? self->shape.span : self->shape.item_size;
    PyObject *region = region_new((PyObject *)self, data, (Py_ssize_t)size, self->writer != NULL, done, number);
    handle_unlock(&self->handle);
    if (!region) end_unpin(self);
    return region;
}

static PyObject *end_region(PyObject *object, PyObject *ignored) {
    (void)ignored;
    if (!end_enter((End *)object)) return NULL;
    return pinned_region((End *)object, 0, true, region_done, 0);
}

static PyObject *reader_borrow(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    (void)ignored;
    if (!end_enter(self)) return NULL;
    PyObject *region = pinned_region(self, 0, true, borrowed_done, 0);
    if (region) self->borrowed++;
    return region;
}

/* Writing --------------------------------------------------------------------------------------------------- */

static bool writer_begin_in(End *self, uint32_t *cell) {
    if (self->slot) {
        PyErr_SetString(PyExc_BufferError,
                        "this writer's last slot is still in use: leave its block and delete slices and arrays of it, which could "
                        "change the element");
        return false;
    }
    int code = slipring_cells_writer_begin(self->writer, cell);
    if (code) raise_code(code);
    return code == SLIPRING_OK;
}

static PyObject *writer_begin(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    uint32_t cell = 0;
    (void)ignored;
    if (!end_enter(self)) return NULL;
    bool begun = writer_begin_in(self, &cell);
    end_leave(self);
    return begun ? PyLong_FromUnsignedLong(cell) : NULL;
}

static PyObject *writer_commit(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    uint64_t seq;
    (void)ignored;
    if (!end_enter(self)) return NULL;
    int code = slipring_cells_writer_commit(self->writer, &seq);
    end_leave(self);
    return code ? raise_code(code) : PyLong_FromUnsignedLongLong(seq);
}

static PyObject *writer_put(PyObject *object, PyObject *value) {
    End *self = (End *)object;
    struct body body;
    uint64_t seq = 0;
    uint32_t cell;
    if (!end_enter(self)) return NULL;
    if (body_get(value, &body)) {
        int code = SLIPRING_OK;
        if (writer_begin_in(self, &cell)) code = slipring_cells_writer_put(self->writer, body.data, (size_t)body.size, &seq);
        body_release(&body);
        if (code) raise_code(code);
    }
    end_leave(self);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(seq);
}

static PyObject *writer_slot(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    uint32_t cell;
    (void)ignored;
    if (!end_enter(self)) return NULL;
    if (!writer_begin_in(self, &cell)) {
        end_leave(self);
        return NULL;
    }
    uint64_t number = ++self->slots;
    PyObject *region = pinned_region(self, cell, false, slot_done, number);
    if (region) self->slot = number;
    return region;
}

/* end_slot(region, strict): True, and the writer may put again; False if strict, and buffers of the slot are in use. */
static PyObject *writer_end_slot(PyObject *object, PyObject *args) {
    End *self = (End *)object;
    PyObject *region;
    int strict;
    if (!PyArg_ParseTuple(args, "O!p", region_type, &region, &strict)) return NULL;
    if (strict && region_in_use(region)) Py_RETURN_FALSE;
    self->slot = 0;
    Py_RETURN_TRUE;
}

/* Reading --------------------------------------------------------------------------------------------------- */

static bool reader_enter_to_take(End *self) {
    if (!end_enter(self)) return false;
    if (!self->borrowed || SLR_DEFECT(cells_in_use_given_away)) return true;
    PyErr_SetString(PyExc_BufferError,
                    "elements of the last snapshot are still in use in place: delete them, or read copies (copy=True)");
    end_leave(self);
    return false;
}

/* The numbers of the taken cells, oldest element first. */
static PyObject *reader_take(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    const slipring_element *elements;
    size_t count;
    (void)ignored;
    if (!reader_enter_to_take(self)) return NULL;
    int code = slipring_cells_reader_take(self->reader, &elements, &count);
    PyObject *cells = code ? raise_code(code) : PyList_New((Py_ssize_t)count);
    for (size_t i = 0; cells && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(elements[i].cell);
        if (!number || PyList_SetItem(cells, (Py_ssize_t)i, number)) Py_CLEAR(cells);
    }
    end_leave(self);
    return cells;
}

/* The number of the newest element's cell, or -1. */
static PyObject *reader_take_newest(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    slipring_element element;
    (void)ignored;
    if (!reader_enter_to_take(self)) return NULL;
    int code = slipring_cells_reader_take_newest(self->reader, &element);
    if (code && code != SLIPRING_EMPTY) raise_code(code);
    end_leave(self);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLong(code ? -1 : (long)element.cell);
}

/* (received, lost, skipped, position); the last values of a closed reader. */
static PyObject *reader_counts(PyObject *object, PyObject *ignored) {
    End *self = (End *)object;
    slipring_cells_counts c = self->last_counts;
    (void)ignored;
    if (self->reader) slipring_cells_reader_counts(self->reader, &c);
    return Py_BuildValue("KKKK", (unsigned long long)c.received, (unsigned long long)c.lost, (unsigned long long)c.skipped,
                         (unsigned long long)c.position);
}

static int wait_once(End *self, int64_t deadline) {
    int code;
    Py_BEGIN_ALLOW_THREADS
    code = slipring_cells_reader_wait(self->reader, deadline, (int64_t)(DEFAULT_SPIN_US * 1000));
    Py_END_ALLOW_THREADS
    return code;
}

/* True if there is an element to take, False after the time-out. */
static PyObject *reader_wait(PyObject *object, PyObject *timeout_value) {
    End *self = (End *)object;
    struct timeout timeout;
    bool ready = false;
    if (!timeout_parse(timeout_value, &timeout) || !end_enter(self)) return NULL;
    int64_t deadline = timeout.never_waits ? 1 : timeout_deadline(&timeout);
    handle_unlock(&self->handle); /* a wait only reads */
    for (int code = SLIPRING_OK; !ready && code != SLIPRING_TIMEOUT && !PyErr_Occurred();) {
        code = wait_once(self, deadline);
        if (self->handle.closing) raise_closed("reader");
        else if (code && code != SLIPRING_TIMEOUT && code != SLIPRING_INTERRUPTED) raise_code(code);
        else ready = PyErr_CheckSignals() == 0 && slipring_cells_reader_wait(self->reader, 1, 0) == SLIPRING_OK;
    }
    end_unpin(self);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(ready);
}

/* Types ----------------------------------------------------------------------------------------------------- */

#define COMMON \
    {"close", end_close, METH_NOARGS, NULL}, {"shape", end_shape, METH_NOARGS, NULL}, { "region", end_region, METH_NOARGS, NULL }
static PyMethodDef writer_methods[] = {COMMON,
                                       {"begin", writer_begin, METH_NOARGS, NULL},
                                       {"commit", writer_commit, METH_NOARGS, NULL},
                                       {"put", writer_put, METH_O, NULL},
                                       {"slot", writer_slot, METH_NOARGS, NULL},
                                       {"end_slot", writer_end_slot, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyMethodDef reader_methods[] = {COMMON,
                                       {"borrow", reader_borrow, METH_NOARGS, NULL},
                                       {"take", reader_take, METH_NOARGS, NULL},
                                       {"take_newest", reader_take_newest, METH_NOARGS, NULL},
                                       {"counts", reader_counts, METH_NOARGS, NULL},
                                       {"wait", reader_wait, METH_O, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyGetSetDef end_getset[] = {{"closed", end_closed, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot writer_slots[] = {{Py_tp_new, writer_new},
                                     {Py_tp_dealloc, end_dealloc},
                                     {Py_tp_methods, writer_methods},
                                     {Py_tp_getset, end_getset},
                                     {0, NULL}};
static PyType_Slot reader_slots[] = {{Py_tp_new, reader_new},
                                     {Py_tp_dealloc, end_dealloc},
                                     {Py_tp_methods, reader_methods},
                                     {Py_tp_getset, end_getset},
                                     {0, NULL}};
static PyType_Spec writer_spec = {
    .name = "slipring._native.CellsWriter", .basicsize = sizeof(End), .flags = Py_TPFLAGS_DEFAULT, .slots = writer_slots};
static PyType_Spec reader_spec = {
    .name = "slipring._native.CellsReader", .basicsize = sizeof(End), .flags = Py_TPFLAGS_DEFAULT, .slots = reader_slots};

bool cells_types_ready(PyObject *module) {
    return (writer_type = add_type(module, &writer_spec)) && (reader_type = add_type(module, &reader_spec));
}

/* Files ----------------------------------------------------------------------------------------------------- */

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

/* One row for the process that has an end, or had it when it died; none if there is no such process. */
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
