/* SPDX-License-Identifier: Apache-2.0
 *
 * send_many checks all bodies before it sends the first, so that a wrong body leaves nothing half sent.
 *
 * The bodies must not change after the check. A list of bytes cannot change until the first wait, because nothing else runs.
 * From then on, and for every other sequence from the start, a private tuple holds the bodies.
 */
#include "native.h"

#define AT_ONCE 1024 /* messages between two checks for signals */

struct bodies {
    PyObject *list, *tuple; /* list NULL: not a list; tuple NULL: not created */
    slipring_body *raw;
    struct body *buffers; /* of bodies that are not bytes objects; NULL while there is none */
    size_t count, buffer_count, largest;
};

static inline void add(struct bodies *b, size_t i, const void *data, size_t size) {
    b->raw[i] = (slipring_body){.data = data, .size = size};
    if (size > b->largest) b->largest = size;
}

static bool make_room(struct bodies *b, Py_ssize_t count) {
    b->count = (size_t)count;
    b->raw = PyMem_Malloc((b->count ? b->count : 1) * sizeof *b->raw);
    if (!b->raw) PyErr_NoMemory();
    return b->raw;
}

/* False without an exception: some item is not a bytes object. */
static bool gather_list(struct bodies *b) {
#ifdef Py_GIL_DISABLED /* other threads run */
    return false;
#endif
    if (!make_room(b, PyList_Size(b->list))) return false;
    for (size_t i = 0; i < b->count; i++) {
        PyObject *item = PyList_GetItem(b->list, (Py_ssize_t)i);
        if (!PyBytes_CheckExact(item)) {
            PyMem_Free(b->raw);
            b->raw = NULL;
            return false;
        }
        add(b, i, bytes_data(item), bytes_size(item));
    }
    return true;
}

static bool gather_tuple(struct bodies *b) {
    if (!make_room(b, PyTuple_Size(b->tuple))) return false;
    b->largest = 0;
    for (size_t i = 0; i < b->count; i++) {
        PyObject *item = PyTuple_GetItem(b->tuple, (Py_ssize_t)i);
        if (PyBytes_CheckExact(item)) {
            add(b, i, bytes_data(item), bytes_size(item));
            continue;
        }
        if (!b->buffers && !(b->buffers = PyMem_Calloc(b->count, sizeof *b->buffers))) {
            PyErr_NoMemory();
            return false;
        }
        struct body *body = &b->buffers[b->buffer_count];
        if (!body_get(item, body)) return false;
        b->buffer_count++;
        add(b, i, body->data, (size_t)body->size);
    }
    return true;
}

/* Before the publisher is entered: creating the tuple may run Python code. */
static bool collect(PyObject *items, struct bodies *b) {
    if (PyUnicode_Check(items) || PyObject_CheckBuffer(items)) {
        raise_wrong_type("bodies", "a sequence of message bodies (use send() for one body)", items);
        return false;
    }
    if (PyList_CheckExact(items))
        b->list = items;
    else
        b->tuple = PySequence_Tuple(items);
    return b->list || b->tuple;
}

static bool gather(struct bodies *b) {
    if (b->list && gather_list(b)) return true;
    if (PyErr_Occurred()) return false;
    if (!b->tuple) b->tuple = PySequence_Tuple(b->list);
    return b->tuple && gather_tuple(b);
}

static void bodies_free(struct bodies *b) {
    for (size_t i = 0; i < b->buffer_count; i++) body_release(&b->buffers[i]);
    PyMem_Free(b->buffers);
    PyMem_Free(b->raw);
    Py_XDECREF(b->tuple);
}

/* 1 try again, 0 time-out, -1 exception. */
static int wait_for_space(Publisher *self, struct bodies *b, struct timeout *timeout) {
    if (timeout->never_waits) return 0;
    if (!b->tuple) b->tuple = PySequence_Tuple(b->list);
    return b->tuple ? publisher_wait(self, timeout) : -1;
}

static bool send_all(Publisher *self, struct bodies *b, const char *type, Py_ssize_t type_size, struct timeout *timeout,
                     uint64_t *last) {
    handle_relock(&self->handle); /* the bodies may have run Python code */
    int code = slipring_publisher_check(self->pub, b->largest, type, (size_t)type_size);
    for (size_t done = 0, sent = 0; !code && done < b->count; done += sent) {
        size_t size = b->count - done < AT_ONCE ? b->count - done : AT_ONCE;
        code = slipring_publisher_try_send_many(self->pub, b->raw + done, size, type, (size_t)type_size, &sent, last);
        if (code != SLIPRING_FULL) continue;
        int again = wait_for_space(self, b, timeout);
        if (again < 0) return false;
        if (again > 0) code = SLIPRING_OK;
    }
    if (code) raise_unsent(self, code);
    return code == SLIPRING_OK;
}

PyObject *publisher_send_many_raw(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"send_many", 3, 1, {"bodies", "type", "timeout"}, {NULL}};
    Publisher *self = (Publisher *)object;
    PyObject *given[3] = {NULL, NULL, NULL}, *result = NULL;
    const char *type;
    Py_ssize_t type_size;
    struct timeout timeout;
    struct bodies bodies = {.count = 0};
    uint64_t last = 0;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (!collect(given[0], &bodies)) return NULL;
    if (publisher_enter(self)) {
        if (text_get(given[1], "type", &type, &type_size) && publisher_timeout(self, given[2], &timeout) &&
            gather(&bodies) && send_all(self, &bodies, type, type_size, &timeout, &last)) {
            result = bodies.count ? PyLong_FromUnsignedLongLong(last) : Py_None;
            if (!bodies.count) Py_INCREF(result);
        }
        publisher_leave(self);
    }
    bodies_free(&bodies);
    return result;
}

/* _send_records(bodies, size, type, [timeout]): bodies of equal size, one after the other in one buffer. */
PyObject *publisher_send_records(PyObject *object, PyObject *args) {
    Publisher *self = (Publisher *)object;
    PyObject *buffer, *type_text, *timeout_value = NULL, *result = NULL;
    Py_ssize_t size, type_size;
    const char *type;
    struct timeout timeout;
    struct body body;
    struct bodies bodies = {.count = 0};
    uint64_t last = 0;
    if (!PyArg_ParseTuple(args, "OnU|O:_send_records", &buffer, &size, &type_text, &timeout_value) || !body_get(buffer, &body))
        return NULL;
    if (size <= 0 || body.size % size) {
        raise_bad_argument("size", "size=%zd must divide the %zd bytes of the bodies", size, body.size);
    } else if (make_room(&bodies, body.size / size)) {
        for (size_t i = 0; i < bodies.count; i++) add(&bodies, i, (const char *)body.data + i * (size_t)size, (size_t)size);
        bodies.tuple = PyTuple_New(0); /* the buffer keeps them */
        if (bodies.tuple && publisher_enter(self)) {
            if (text_get(type_text, "type", &type, &type_size) && publisher_timeout(self, timeout_value, &timeout) &&
                send_all(self, &bodies, type, type_size, &timeout, &last)) {
                result = bodies.count ? PyLong_FromUnsignedLongLong(last) : Py_None;
                if (!bodies.count) Py_INCREF(result);
            }
            publisher_leave(self);
        }
    }
    bodies_free(&bodies);
    body_release(&body);
    return result;
}

PyObject *publisher_send_many(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    Publisher *self = (Publisher *)object;
    return self->codec ? publisher_call_codec(self, "send_many", args, nargs, kwnames)
                       : publisher_send_many_raw(object, args, nargs, kwnames);
}
