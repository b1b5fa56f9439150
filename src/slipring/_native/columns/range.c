/* SPDX-License-Identifier: Apache-2.0
 *
 * Range: the messages between two sequences, as Arrow batches. A batch ends when it has its bytes or its rows; the next call
 * continues behind it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "columns/columns.h"

#define MOST_ROWS 65536
#define ROW_BYTES 16 /* bytes that a row counts beside its body: empty bodies fill a batch, too */

typedef struct Range {
    PyObject_HEAD
    slipring_range *range;
    char *topic;
    struct handle handle;
} Range;

PyTypeObject *range_type;

struct filling {
    struct batch batch;
    int64_t size; /* bytes after which the batch ends */
    bool gaps;
    uint64_t lost;
};

static int64_t weight(const struct filling *f) { return batch_bytes(&f->batch) + f->batch.rows * ROW_BYTES; }

static bool is_full(const struct filling *f) { return f->batch.rows && weight(f) >= f->size; }

static bool take(void *context, const slipring_message *m) {
    struct filling *f = context;
    return !is_full(f) && batch_take(&f->batch, m);
}

/* Takes as many messages as fit if each has the size of the last one. */
static size_t take_run(void *context, slipring_subscriber *reader, uint64_t most) {
    struct filling *f = context;
    int64_t before = f->batch.rows, left = f->size - weight(f), fit = before ? left / (ROW_BYTES + batch_last_bytes(&f->batch)) : 0;
    if (most > INT32_MAX) most = INT32_MAX;
    if (fit <= 0 || !batch_take_run(&f->batch, reader, fit < (int64_t)most ? fit : (int64_t)most)) return 0;
    return (size_t)(f->batch.rows - before);
}

static bool take_hole(void *context, uint64_t first, uint64_t span, uint64_t lost) {
    struct filling *f = context;
    if (f->gaps && (is_full(f) || !batch_take_hole(&f->batch, first, span, lost))) return false;
    f->lost += lost;
    return true;
}

static void drop(void *context) {
    struct filling *f = context;
    batch_cut(&f->batch, f->batch.rows - 1);
}

static const slipring_range_sink filling_sink = {.message = take, .hole = take_hole, .drop = drop, .run = take_run};

/* Life ------------------------------------------------------------------------------------------------------ */

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *bus_path, *topic;
    int code;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "ss:Range", &bus_path, &topic)) return NULL;
    Range *self = (Range *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->topic = strdup(topic);
    if (!self->topic || !handle_init(&self->handle)) {
        Py_DECREF(self);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    code = slipring_range_open(bus_path, topic, &self->range);
    Py_END_ALLOW_THREADS
    if (code) {
        self->range = NULL;
        Py_DECREF(self);
        return raise_code_at(code, bus_path);
    }
    return (PyObject *)self;
}

static bool enter(Range *self) {
    handle_lock(&self->handle);
    if (self->range) return true;
    handle_unlock(&self->handle);
    raise_closed("range");
    return false;
}

static PyObject *range_close(PyObject *object, PyObject *ignored) {
    Range *self = (Range *)object;
    (void)ignored;
    handle_lock(&self->handle);
    if (self->range) slipring_range_close(self->range);
    self->range = NULL;
    handle_unlock(&self->handle);
    Py_RETURN_NONE;
}

static void range_dealloc(PyObject *object) {
    Range *self = (Range *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->range) slipring_range_close(self->range);
    free(self->topic);
    handle_clear(&self->handle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Looking --------------------------------------------------------------------------------------------------- */

static PyObject *sequence_or_error(int code, uint64_t seq) {
    return code ? raise_code(code) : PyLong_FromUnsignedLongLong(seq);
}

static PyObject *range_oldest(PyObject *object, PyObject *ignored) {
    Range *self = (Range *)object;
    uint64_t seq = 0;
    (void)ignored;
    if (!enter(self)) return NULL;
    int code = slipring_range_oldest(self->range, &seq);
    handle_unlock(&self->handle);
    return sequence_or_error(code, seq);
}

static PyObject *range_settled(PyObject *object, PyObject *args) {
    Range *self = (Range *)object;
    unsigned long long start, rows, size;
    uint64_t seq = 0;
    if (!PyArg_ParseTuple(args, "KKK:settled", &start, &rows, &size) || !enter(self)) return NULL;
    PyThreadState *state = handle_release_gil(&self->handle);
    int code = slipring_range_settled(self->range, start, rows, size, &seq);
    handle_retake_gil(&self->handle, state);
    handle_unlock(&self->handle);
    return sequence_or_error(code, seq);
}

static PyObject *range_at_time(PyObject *object, PyObject *number) {
    Range *self = (Range *)object;
    uint64_t seq = 0;
    long long time_ns = PyLong_AsLongLong(number);
    if ((time_ns == -1 && PyErr_Occurred()) || !enter(self)) return NULL;
    PyThreadState *state = handle_release_gil(&self->handle);
    int code = slipring_range_at_time(self->range, time_ns, &seq);
    handle_retake_gil(&self->handle, state);
    handle_unlock(&self->handle);
    return sequence_or_error(code, seq);
}

/* Reading --------------------------------------------------------------------------------------------------- */

static PyObject *range_begin(PyObject *object, PyObject *number) {
    Range *self = (Range *)object;
    unsigned long long start = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() || !enter(self)) return NULL;
    int code = slipring_range_begin(self->range, start);
    handle_unlock(&self->handle);
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* (reached, lost, capsules or None) */
static PyObject *range_batch(PyObject *object, PyObject *args) {
    Range *self = (Range *)object;
    unsigned long long until;
    unsigned asked;
    long long size;
    int gaps;
    const char *host;
    uint64_t reached = 0;
    if (!PyArg_ParseTuple(args, "KILps:batch", &until, &asked, &size, &gaps, &host)) return NULL;
    if (size < 1) return raise_bad_argument("size", "size=%lld must be at least 1", size);
    if (asked == 0 || asked >> COLUMNS) return raise_bad_argument("columns", "columns=%#x must be bits of RANGE_COLUMNS, and not 0", asked);
    if (!enter(self)) return NULL;
    struct filling f = {.size = size, .gaps = gaps};
    int64_t limit = size / ROW_BYTES < MOST_ROWS ? size / ROW_BYTES + 1 : MOST_ROWS;
    bool started = batch_start(&f.batch, asked, limit, size);
    int code = SLIPRING_OK;
    f.batch.nullable = true;
    struct batch_constants constants = {
        .topic = self->topic, .host = host, .generation = (int64_t)slipring_range_generation(self->range), .received_ns = now_ns()};
    if (started) {
        PyThreadState *state = handle_release_gil(&self->handle);
        code = slipring_range_read(self->range, until, &filling_sink, &f, &reached);
        handle_retake_gil(&self->handle, state);
    }
    handle_unlock(&self->handle);
    PyObject *result = NULL;
    if (!started || f.batch.no_memory)
        PyErr_NoMemory();
    else if (code)
        raise_code(code);
    else if (!f.batch.rows && reached < until)
        raise_bad_argument("columns", BATCH_TOO_SMALL);
    else if (f.batch.rows)
        result = Py_BuildValue("KKN", (unsigned long long)reached, (unsigned long long)f.lost, batch_hand_over(&f.batch, &constants));
    else
        result = Py_BuildValue("KKO", (unsigned long long)reached, (unsigned long long)f.lost, Py_None);
    batch_free(&f.batch);
    return result;
}

static PyObject *range_generation(PyObject *object, void *ignored) {
    Range *self = (Range *)object;
    (void)ignored;
    if (!enter(self)) return NULL;
    uint64_t generation = slipring_range_generation(self->range);
    handle_unlock(&self->handle);
    return PyLong_FromUnsignedLongLong(generation);
}

static int get_schema(const void *range, void *buffer, size_t room, size_t *size) {
    return slipring_range_schema(range, buffer, room, size);
}

static PyObject *range_schema(PyObject *object, void *ignored) {
    Range *self = (Range *)object;
    PyObject *schema;
    (void)ignored;
    if (!enter(self)) return NULL;
    bool known = schema_get(get_schema, self->range, &schema);
    handle_unlock(&self->handle);
    if (!known || schema) return schema;
    Py_RETURN_NONE;
}

static PyObject *range_reliable(PyObject *object, void *ignored) {
    Range *self = (Range *)object;
    (void)ignored;
    if (!enter(self)) return NULL;
    bool reliable = slipring_range_reliable(self->range);
    handle_unlock(&self->handle);
    return PyBool_FromLong(reliable);
}

static PyMethodDef range_methods[] = {
    {"oldest", range_oldest, METH_NOARGS, "Return the lowest sequence that is still readable."},
    {"settled", range_settled, METH_VARARGS, "settled(start, rows, size): return the end of the settled messages from start on."},
    {"at_time", range_at_time, METH_O, "Return the first sequence in the ring that was sent at or after a time."},
    {"begin", range_begin, METH_O, "Set the sequence at which reading begins."},
    {"batch", range_batch, METH_VARARGS, "batch(until, columns, size, gaps, host): return (reached, lost, capsules or None)."},
    {"close", range_close, METH_NOARGS, "Unmap the topic."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef range_attributes[] = {{"generation", range_generation, NULL, "A number that differs between successive topics of one name.", NULL},
                                         {"schema", range_schema, NULL, "The bytes of the topic's schema, or None.", NULL},
                                         {"reliable", range_reliable, NULL, "Whether the topic is reliable.", NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot range_slots[] = {{Py_tp_new, range_new},         {Py_tp_dealloc, range_dealloc},
                                    {Py_tp_methods, range_methods}, {Py_tp_getset, range_attributes},
                                    {0, NULL}};
static PyType_Spec range_spec = {
    .name = "slipring._native.Range", .basicsize = sizeof(Range), .flags = Py_TPFLAGS_DEFAULT, .slots = range_slots};

#define TEXT(name, text, format) text,
static bool add_columns(PyObject *module) {
    static const char *const names[COLUMNS] = {COLUMN_LIST(TEXT)};
    PyObject *tuple = PyTuple_New(COLUMNS);
    for (Py_ssize_t i = 0; tuple && i < COLUMNS; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyTuple_SetItem(tuple, i, name)) Py_CLEAR(tuple);
    }
    bool added = tuple && PyModule_AddObjectRef(module, "RANGE_COLUMNS", tuple) == 0;
    Py_XDECREF(tuple);
    return added;
}

bool range_type_ready(PyObject *module) { return (range_type = add_type(module, &range_spec)) && add_columns(module); }
