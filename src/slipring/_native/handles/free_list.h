/* SPDX-License-Identifier: Apache-2.0
 *
 * A few dead objects of a type are kept for the next ones, with their reference to the type: half of what a small object costs
 * is its memory. Under the GIL only.
 */
#ifndef SLIPRING_FREE_LIST_H
#define SLIPRING_FREE_LIST_H

#include <Python.h>
#include <stdbool.h>

#ifdef Py_GIL_DISABLED
#define FREE_LIST_SIZE 0
#else
#define FREE_LIST_SIZE 64
#endif

struct free_list {
    PyObject *objects[FREE_LIST_SIZE + 1];
    int count;
};

/* A new reference to one of them, whose fields are to be set; or NULL: make another. */
static inline void *free_list_take(struct free_list *list) {
    if (list->count == 0) return NULL;
    PyObject *object = list->objects[--list->count];
    Py_SET_REFCNT(object, 1);
    return object;
}

/* At the end of its dealloc, when its fields refer to nothing; or frees it. */
static inline void free_list_give(struct free_list *list, PyObject *object) {
    if (list->count < FREE_LIST_SIZE) {
        list->objects[list->count++] = object;
        return;
    }
    PyTypeObject *type = Py_TYPE(object);
    PyObject_Free(object);
    Py_DECREF(type);
}

#endif
