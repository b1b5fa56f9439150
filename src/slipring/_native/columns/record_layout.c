/* SPDX-License-Identifier: Apache-2.0
 *
 * RecordLayout: bodies of a fixed layout, one after the other, as Arrow buffers, and back. The arguments come from schemas of
 * other programs: each leaf is checked to be inside of a row when the layout is made, each buffer when it is used. A leaf has
 * no more items than the row has bytes, so that no product of rows, items and width exceeds that of rows and size.
 */
#include <string.h>

#include "columns/buffer_pool.h"
#include "columns/row_pass.h"
#include "native.h"

#define MOST_LOOPS 32                    /* structures inside structures, as in a schema */
#define MOST_MEMORY (PY_SSIZE_T_MAX / 4) /* of one call */
#define ALIGNMENT 64                     /* of a buffer, as Arrow recommends */

typedef struct RecordLayout {
    PyObject_HEAD
    int64_t size;
    size_t count;
    struct row_leaf *leaves;
} RecordLayout;

static PyTypeObject *record_layout_type;

/* Leaves ---------------------------------------------------------------------------------------------------- */

#define TEXT(name, text) text,
static const char *const kind_names[LEAF_KIND_COUNT] = {LEAF_KINDS(TEXT)};

static bool kind_of(const char *name, struct row_leaf *leaf) {
    for (int i = 0; i < LEAF_KIND_COUNT; i++) {
        leaf->kind = (enum leaf_kind)i;
        if (strcmp(name, kind_names[i]) == 0) return true;
    }
    raise_bad_argument("leaves", "kind '%s' of a leaf is not one of copy, bits, valid, bytes, text", name);
    return false;
}

static bool width_fits(const struct row_leaf *leaf, int64_t size) {
    int64_t unit = leaf->kind == LEAF_VALID ? 8 : leaf->kind == LEAF_BITS ? 1 : leaf->kind == LEAF_TEXT ? 4 : 0;
    if (leaf->width >= 1 && leaf->width <= size && (leaf->kind == LEAF_TEXT ? leaf->width % 4 == 0 : !unit || leaf->width == unit))
        return true;
    raise_bad_argument("leaves", "width %lld of a leaf of kind %s is not possible in a row of %lld bytes", (long long)leaf->width,
                       kind_names[leaf->kind], (long long)size);
    return false;
}

static bool read_loops(struct row_leaf *leaf, PyObject *loops) {
    Py_ssize_t depth = PyTuple_Size(loops);
    if (depth > MOST_LOOPS) {
        raise_bad_argument("leaves", "a leaf has %zd loops, at most %d are allowed", depth, MOST_LOOPS);
        return false;
    }
    leaf->loops = PyMem_Calloc((size_t)depth + 1, sizeof *leaf->loops);
    if (!leaf->loops) PyErr_NoMemory();
    for (; leaf->loops && leaf->depth < depth; leaf->depth++) {
        Py_ssize_t count, stride;
        PyObject *loop = PyTuple_GetItem(loops, leaf->depth);
        if (!PyTuple_Check(loop)) raise_wrong_type("leaves", "a loop as tuple of count and stride", loop);
        if (PyErr_Occurred() || !PyArg_ParseTuple(loop, "nn:loop", &count, &stride)) return false;
        leaf->loops[leaf->depth] = (struct row_loop){count, stride};
    }
    return leaf->loops;
}

/* Each number is compared with the size before it is multiplied: no product exceeds 62 bits. */
static bool is_inside(struct row_leaf *leaf, int64_t size) {
    int64_t end = leaf->offset + leaf->width;
    leaf->items = 1;
    bool inside = leaf->offset >= 0 && leaf->offset <= size - leaf->width;
    for (int i = 0; inside && i < leaf->depth; i++) {
        struct row_loop loop = leaf->loops[i];
        inside = loop.count >= 1 && loop.count <= size && loop.stride >= 1 && loop.stride <= size;
        if (!inside) break;
        leaf->items *= loop.count;
        end += (loop.count - 1) * loop.stride;
        inside = end <= size && leaf->items <= size / leaf->width;
    }
    if (!inside)
        raise_bad_argument("leaves", "a leaf at offset %lld with items of %lld bytes is not inside of a row of %lld bytes",
                           (long long)leaf->offset, (long long)leaf->width, (long long)size);
    return inside;
}

static bool read_leaf(struct row_leaf *leaf, PyObject *item, int64_t size) {
    const char *kind;
    Py_ssize_t offset, width;
    PyObject *loops;
    if (!PyTuple_Check(item)) {
        raise_wrong_type("leaves", "tuples of kind, offset, width and loops", item);
        return false;
    }
    if (!PyArg_ParseTuple(item, "snnO!:leaf", &kind, &offset, &width, &PyTuple_Type, &loops)) return false;
    leaf->offset = offset;
    leaf->width = width;
    return kind_of(kind, leaf) && width_fits(leaf, size) && read_loops(leaf, loops) && is_inside(leaf, size);
}

static PyObject *layout_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Py_ssize_t size;
    PyObject *items;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "nO!:RecordLayout", &size, &PyTuple_Type, &items)) return NULL;
    if (size < 1 || size > INT32_MAX) return raise_bad_argument("size", "size=%zd must be 1 to %d bytes", size, INT32_MAX);
    RecordLayout *self = (RecordLayout *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    size_t count = (size_t)PyTuple_Size(items);
    self->size = size;
    self->leaves = PyMem_Calloc(count + 1, sizeof *self->leaves);
    bool ready = self->leaves;
    if (!ready) PyErr_NoMemory();
    while (ready && self->count < count) {
        struct row_leaf *leaf = &self->leaves[self->count++];
        ready = read_leaf(leaf, PyTuple_GetItem(items, (Py_ssize_t)self->count - 1), size);
    }
    if (ready) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void layout_dealloc(PyObject *object) {
    RecordLayout *self = (RecordLayout *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (size_t i = 0; i < self->count; i++) PyMem_Free(self->leaves[i].loops);
    PyMem_Free(self->leaves);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Memory ---------------------------------------------------------------------------------------------------- */

static void give_back(PyObject *owner, uint64_t block) {
    (void)owner;
    pool_give((void *)(uintptr_t)block);
}

/* A memoryview of a block of the pool, which goes back with its last buffer. Takes over the block. */
static PyObject *view_of(void *block, Py_ssize_t size) {
    PyObject *region = region_new(Py_None, block, size, false, give_back, (uint64_t)(uintptr_t)block);
    if (!region) {
        pool_give(block);
        return NULL;
    }
    PyObject *view = region_memoryview(region);
    Py_DECREF(region);
    return view;
}

static bool get_buffer(PyObject *object, const char *argument, Py_buffer *view) {
    int got = buffer_get(object, argument, PyBUF_SIMPLE, view);
    return got > 0 || (got < 0 && PyObject_CheckBuffer(object) && buffer_get_without_format(object, argument, PyBUF_SIMPLE, view));
}

static bool rows_fit(const RecordLayout *self, Py_ssize_t rows) {
    if (rows >= 0 && rows <= MOST_MEMORY / self->size) return true;
    raise_bad_argument("rows", "rows=%zd must be at least 0 and at most %lld", rows, (long long)(MOST_MEMORY / self->size));
    return false;
}

/* Splitting ------------------------------------------------------------------------------------------------- */

struct splitting {
    struct leaf_column *columns;
    size_t total;
    uint8_t *block;
};

static size_t data_size(const struct row_leaf *leaf, int64_t rows) {
    int64_t items = rows * leaf->items;
    return (size_t)(leaf_has_bits(leaf) ? (items + 7) / 8 : items * leaf->width);
}

static size_t ends_size(const struct row_leaf *leaf, int64_t rows) {
    return leaf_has_ends(leaf) ? (size_t)(rows * leaf->items + 1) * sizeof(int32_t) : 0;
}

/* Gives each buffer its place in one block: first the offsets of a leaf, then its data. */
static bool place_columns(const RecordLayout *self, int64_t rows, struct splitting *s) {
    for (int placing = 0; placing < 2; placing++) {
        s->total = 0;
        for (size_t i = 0; i < self->count; i++) {
            const struct row_leaf *leaf = &self->leaves[i];
            size_t ends = (ends_size(leaf, rows) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, data = data_size(leaf, rows);
            if (ends && data > INT32_MAX) {
                raise_bad_argument("rows", "a column of texts has up to %zu bytes, an Arrow column has at most %d: decode fewer rows",
                                   data, INT32_MAX);
                return false;
            }
            if (placing) s->columns[i] = (struct leaf_column){.data = s->block + s->total + ends};
            if (placing && ends) {
                s->columns[i].ends = (int32_t *)(void *)(s->block + s->total);
                *s->columns[i].ends++ = 0;
            }
            s->total += ends + (data + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
            if (s->total > MOST_MEMORY) return PyErr_NoMemory();
        }
        if (!placing && !(s->block = pool_take(s->total))) return PyErr_NoMemory();
    }
    return true;
}

static bool append(PyObject *list, PyObject *item) { /* takes over item */
    bool appended = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return appended;
}

/* One buffer for each leaf, two if it has ends. None: all valid, or a text that Unicode does not have. */
static bool append_leaf(PyObject *list, PyObject *view, const struct row_leaf *leaf, int64_t rows, const struct splitting *s,
                        const struct leaf_column *c) {
    Py_ssize_t start = c->data - s->block, size = leaf_has_ends(leaf) ? (Py_ssize_t)c->at : (Py_ssize_t)data_size(leaf, rows);
    if (leaf_has_ends(leaf)) {
        Py_ssize_t last = (uint8_t *)c->ends - s->block;
        if (!append(list, PySequence_GetSlice(view, last - (Py_ssize_t)ends_size(leaf, rows), last))) return false;
    }
    bool none = leaf->kind == LEAF_VALID ? !c->flaws : leaf->kind == LEAF_TEXT && c->flaws;
    if (none) return PyList_Append(list, Py_None) == 0;
    return append(list, PySequence_GetSlice(view, start, start + size));
}

static PyObject *hand_over(const RecordLayout *self, int64_t rows, const struct splitting *s) {
    PyObject *view = view_of(s->block, (Py_ssize_t)s->total), *list = view ? PyList_New(0) : NULL;
    bool made = list;
    for (size_t i = 0; made && i < self->count; i++)
        made = append_leaf(list, view, &self->leaves[i], rows, s, &s->columns[i]);
    Py_XDECREF(view);
    if (!made) Py_CLEAR(list);
    return list;
}

/* split(data, rows) */
static PyObject *layout_split(PyObject *object, PyObject *args) {
    RecordLayout *self = (RecordLayout *)object;
    PyObject *data, *result = NULL;
    Py_ssize_t rows;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "On:split", &data, &rows) || !rows_fit(self, rows) || !get_buffer(data, "data", &view)) return NULL;
    struct splitting s = {.columns = PyMem_Calloc(self->count + 1, sizeof *s.columns)};
    if (view.len != rows * self->size) {
        raise_bad_argument("data", "data has %zd bytes, %zd rows of %lld bytes have %lld", view.len, rows, (long long)self->size,
                           (long long)(rows * self->size));
    } else if (!s.columns) {
        PyErr_NoMemory();
    } else if (place_columns(self, rows, &s)) {
        PyThreadState *state = view.len >= LARGE_COPY ? PyEval_SaveThread() : NULL;
        rows_split(self->leaves, self->count, self->size, view.buf, rows, s.columns);
        if (state) PyEval_RestoreThread(state);
        result = hand_over(self, rows, &s);
    }
    PyMem_Free(s.columns);
    PyBuffer_Release(&view);
    return result;
}

/* Joining --------------------------------------------------------------------------------------------------- */

/* Sets the column of a leaf from None or (buffer, start); start counts bits or bytes. */
static bool read_source(const struct row_leaf *leaf, int64_t rows, PyObject *source, Py_buffer *view, struct leaf_column *c) {
    PyObject *buffer;
    Py_ssize_t start;
    if (source == Py_None) return true;
    if (leaf_has_ends(leaf)) {
        raise_bad_argument("sources", "a leaf of kind %s cannot be joined: give it as copy", kind_names[leaf->kind]);
        return false;
    }
    if (!PyTuple_Check(source)) raise_wrong_type("sources", "None or tuples of buffer and start", source);
    if (PyErr_Occurred() || !PyArg_ParseTuple(source, "On:source", &buffer, &start)) return false;
    if (!get_buffer(buffer, "sources", view)) {
        view->obj = NULL;
        return false;
    }
    int64_t length = rows * leaf->items * (leaf_has_bits(leaf) ? 1 : leaf->width), unit = leaf_has_bits(leaf) ? 8 : 1;
    if (start < 0 || view->len > MOST_MEMORY / 8 || length > view->len * unit - start) {
        raise_bad_argument("sources", "a column of %zd bytes has no %lld %s from %zd on", view->len, (long long)length,
                           unit == 8 ? "bits" : "bytes", start);
        return false;
    }
    c->data = view->buf;
    c->at = start;
    return true;
}

static PyObject *join_columns(const RecordLayout *self, int64_t rows, struct leaf_column *columns) {
    int64_t size = rows * self->size;
    uint8_t *block = pool_take((size_t)size);
    if (!block) return PyErr_NoMemory();
    PyThreadState *state = size >= LARGE_COPY ? PyEval_SaveThread() : NULL;
    rows_join(self->leaves, self->count, self->size, block, rows, columns);
    if (state) PyEval_RestoreThread(state);
    return view_of(block, (Py_ssize_t)size);
}

/* join(sources, rows) */
static PyObject *layout_join(PyObject *object, PyObject *args) {
    RecordLayout *self = (RecordLayout *)object;
    PyObject *sources, *result = NULL;
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "O!n:join", &PyTuple_Type, &sources, &rows) || !rows_fit(self, rows)) return NULL;
    if ((size_t)PyTuple_Size(sources) != self->count)
        return raise_bad_argument("sources", "%zd sources are given, the layout has %zu leaves", PyTuple_Size(sources), self->count);
    struct leaf_column *columns = PyMem_Calloc(self->count + 1, sizeof *columns);
    Py_buffer *views = PyMem_Calloc(self->count + 1, sizeof *views); /* obj is NULL where there is no buffer */
    bool ready = columns && views;
    if (!ready) PyErr_NoMemory();
    for (size_t i = 0; ready && i < self->count; i++)
        ready = read_source(&self->leaves[i], rows, PyTuple_GetItem(sources, (Py_ssize_t)i), &views[i], &columns[i]);
    if (ready) result = join_columns(self, rows, columns);
    for (size_t i = 0; views && i < self->count; i++)
        if (views[i].obj) PyBuffer_Release(&views[i]);
    PyMem_Free(views);
    PyMem_Free(columns);
    return result;
}

static PyMethodDef layout_methods[] = {
    {"split", layout_split, METH_VARARGS, "split(data, rows): return the buffers of the columns of so many rows."},
    {"join", layout_join, METH_VARARGS, "join(sources, rows): return so many rows as one buffer."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot layout_slots[] = {
    {Py_tp_new, layout_new}, {Py_tp_dealloc, layout_dealloc}, {Py_tp_methods, layout_methods}, {0, NULL}};
static PyType_Spec layout_spec = {
    .name = "slipring._native.RecordLayout", .basicsize = sizeof(RecordLayout), .flags = Py_TPFLAGS_DEFAULT, .slots = layout_slots};

bool record_layout_type_ready(PyObject *module) { return (record_layout_type = add_type(module, &layout_spec)) != NULL; }
