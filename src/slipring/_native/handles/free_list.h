/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of freed objects of a type, with their reference to the type, for the next objects: allocation is half of the cost of
 * a small object. The list is long enough for most batches of recv_many; it keeps at most 40 KiB of messages. Only with the GIL.
 */
#ifndef SLIPRING_FREE_LIST_H
#define SLIPRING_FREE_LIST_H

#include <Python.h>
#include <stdbool.h>

#ifdef Py_GIL_DISABLED
#define FREE_LIST_SIZE 0
#else
#define FREE_LIST_SIZE 512
#endif

struct free_list {
    int count;
    PyObject *objects[FREE_LIST_SIZE + 1];
};

/* An object whose fields the caller sets, or NULL if the list is empty. */
static inline void *free_list_take(struct free_list *list) {
    if (list->count == 0) return NULL;
    PyObject *object = list->objects[--list->count];
    Py_SET_REFCNT(object, 1);
    return object;
}

/* At the end of dealloc, when the fields hold no references. A full list frees the object. */
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
