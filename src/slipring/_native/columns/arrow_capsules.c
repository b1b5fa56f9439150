/* SPDX-License-Identifier: Apache-2.0
 *
 * Exports buffers as an Arrow struct array and its schema, in the two PyCapsules of the Arrow PyCapsule protocol.
 */
#include <stdlib.h>

#include "columns/columns.h"
#include "columns/buffer_pool.h"

#define NULLABLE 2

struct ArrowSchema { /* as the Arrow project specifies it */
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#define TEXT(name, text, format) text,
#define FORMAT(name, text, format) format,
static const char *const column_names[COLUMNS] = {COLUMN_LIST(TEXT)};
static const char *const column_formats[COLUMNS] = {COLUMN_LIST(FORMAT)};

static void release_schema(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    free(schema->children);
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    free(array->children);
    for (int64_t i = 0; i < array->n_buffers; i++) pool_give((void *)(uintptr_t)array->buffers[i]);
    free(array->buffers);
    array->release = NULL;
}

static bool make_schema(struct ArrowSchema *schema, bool nullable, const struct column_buffers *columns, int count) {
    *schema = (struct ArrowSchema){.format = "+s", .name = "", .release = release_schema};
    schema->children = calloc((size_t)count + 1, sizeof *schema->children);
    if (!schema->children) return false;
    for (; schema->n_children < count; schema->n_children++) {
        struct ArrowSchema *child = calloc(1, sizeof *child);
        if (!child) return false;
        child->format = column_formats[columns[schema->n_children].column];
        child->name = column_names[columns[schema->n_children].column];
        child->flags = nullable ? NULLABLE : 0;
        child->release = release_schema;
        schema->children[schema->n_children] = child;
    }
    return true;
}

/* Takes over the buffers. */
static struct ArrowArray *make_column(int64_t rows, struct column_buffers *column) {
    struct ArrowArray *array = calloc(1, sizeof *array);
    const void **buffers = calloc(3, sizeof *buffers);
    if (!array || !buffers) {
        free(array);
        free(buffers);
        return NULL;
    }
    *array = (struct ArrowArray){
        .length = rows, .null_count = column->nulls, .n_buffers = column->buffers[2] ? 3 : 2, .buffers = buffers, .release = release_array};
    for (int i = 0; i < 3; i++) {
        buffers[i] = column->buffers[i];
        column->buffers[i] = NULL;
    }
    return array;
}

static bool make_array(struct ArrowArray *array, int64_t rows, struct column_buffers *columns, int count) {
    *array = (struct ArrowArray){.length = rows, .n_buffers = 1, .release = release_array};
    array->buffers = calloc(1, sizeof *array->buffers);
    array->children = calloc((size_t)count + 1, sizeof *array->children);
    if (!array->buffers || !array->children) return false;
    for (; array->n_children < count; array->n_children++) {
        struct ArrowArray *child = make_column(rows, &columns[array->n_children]);
        if (!child) return false;
        array->children[array->n_children] = child;
    }
    return true;
}

static void schema_capsule_free(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release) schema->release(schema);
    free(schema);
}

static void array_capsule_free(PyObject *capsule) {
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release) array->release(array);
    free(array);
}

PyObject *arrow_capsules(int64_t rows, bool nullable, struct column_buffers *columns, int count) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    struct ArrowArray *array = calloc(1, sizeof *array);
    PyObject *schema_capsule = NULL, *array_capsule = NULL;
    if (schema && array && make_schema(schema, nullable, columns, count) && make_array(array, rows, columns, count)) {
        schema_capsule = PyCapsule_New(schema, "arrow_schema", schema_capsule_free);
        array_capsule = PyCapsule_New(array, "arrow_array", array_capsule_free);
    }
    if (schema_capsule && array_capsule) return Py_BuildValue("NN", schema_capsule, array_capsule);
    if (!schema_capsule && schema) {
        if (schema->release) schema->release(schema);
        free(schema);
    }
    if (!array_capsule && array) {
        if (array->release) array->release(array);
        free(array);
    }
    for (int i = 0; i < 3 * count; i++) pool_give(columns[i / 3].buffers[i % 3]);
    Py_XDECREF(schema_capsule);
    Py_XDECREF(array_capsule);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}
