/* SPDX-License-Identifier: Apache-2.0
 *
 * recv, recv_into and iteration: from the ring into Message objects.
 */
#include "native.h"

static SELDOM void copy_large(Subscriber *self, void *to, const slipring_message *m) {
    PyThreadState *state = handle_release_gil(&self->handle);
    slipring_copy(to, m->body, m->size);
    handle_retake_gil(&self->handle, state);
}

static void copy_body(Subscriber *self, void *to, const slipring_message *m) {
    if (m->size < LARGE_COPY)
        slipring_copy(to, m->body, m->size);
    else
        copy_large(self, to, m);
}

/* With the part of the caller's buffer that it fills. The names are our own meanwhile: making a memoryview may run anybody's
 * code, and another thread may receive others. */
static PyObject *message_into(Subscriber *self, PyObject *buffer, const slipring_message *m) {
    PyObject *sender = self->names.sender, *type = self->names.type;
    Py_INCREF(sender);
    Py_INCREF(type);
    PyObject *whole = PyMemoryView_FromObject(buffer), *part = whole ? PySequence_GetSlice(whole, 0, m->size) : NULL;
    Py_XDECREF(whole);
    PyObject *message = part ? message_new(part, sender, type, self->topic, m->seq, m->time_ns) : NULL;
    Py_DECREF(sender);
    Py_DECREF(type);
    return message;
}

int subscriber_try_recv(Subscriber *self, Py_buffer *into, PyObject *into_object, PyObject **out) {
    if (!self->sub) return SLIPRING_EMPTY;
    for (;;) {
        slipring_message m;
        int code = slipring_subscriber_peek(self->sub, &m);
        if (code) return code;
        PyObject *body = NULL;
        char *target;
        if (into) {
            target = into->buf;
            if (m.size > into->len && slipring_subscriber_intact(self->sub)) {
                char text[100];
                PyOS_snprintf(text, sizeof text, "buffer has %zd bytes, the next message %u: use a larger buffer", into->len,
                              (unsigned)m.size);
                raise_bad_argument("buffer", text);
                return 1;
            }
        } else {
            body = PyBytes_FromStringAndSize(NULL, m.size);
            if (!body) return 1;
            target = bytes_data(body);
        }
        if (into && m.size > into->len) m.size = (uint32_t)into->len; /* not its real size: accept will say so */
        copy_body(self, target, &m);
        bool known = names_are(&self->names, &m);
        if (!known) meta_copy(&self->names.next, &m);
        code = slipring_subscriber_accept(self->sub);
        if (code == SLIPRING_OK) {
            if (!known && !names_become(&self->names, &self->names.next)) {
                Py_XDECREF(body);
                return 1;
            }
            *out = into ? message_into(self, into_object, &m)
                        : message_new(body, self->names.sender, self->names.type, self->topic, m.seq, m.time_ns);
            return *out ? SLIPRING_OK : 1;
        }
        Py_XDECREF(body);
        if (code != SLIPRING_LAPPED) return code;
    }
}

PyObject *subscriber_recv_until(Subscriber *self, struct timeout *timeout, Py_buffer *into, PyObject *into_object,
                                bool looked) {
    PyObject *message = NULL;
    if (!subscriber_enter(self)) return NULL;
    for (int last = 0;; looked = false) {
        int code = looked ? SLIPRING_EMPTY : subscriber_try_recv(self, into, into_object, &message);
        if (code == SLIPRING_EMPTY && !last) {
            int again = subscriber_wait(self, timeout);
            if (again > 0) continue;
            if (again < 0) break;
            if (timeout->never_waits) {
                Py_INCREF(Py_None);
                message = Py_None;
                break;
            }
            last = 1; /* the time is up; what came with its end counts */
            continue;
        }
        if (code == SLIPRING_EMPTY) {
            Py_INCREF(Py_None);
            message = Py_None;
        } else if (code && code != 1) {
            raise_code(code);
        }
        break;
    }
    subscriber_leave(self);
    return message;
}

/* The usual case: something is there. NULL without an exception: wait for it. */
static __attribute__((flatten)) PyObject *recv_now(Subscriber *self) {
    PyObject *message = NULL;
    if (!subscriber_enter(self)) return NULL;
    int code = subscriber_try_recv(self, NULL, NULL, &message);
    if (code && code != SLIPRING_EMPTY && code != 1) raise_code(code);
    subscriber_leave(self);
    return message;
}

PyObject *subscriber_recv(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"recv", 1, 0, {"timeout"}, {NULL}};
    PyObject *given[1] = {Py_None};
    struct timeout timeout;
    if ((nargs || kwnames) && !arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (given[0] != Py_None && !timeout_parse(given[0], &timeout)) return NULL; /* before a message is taken */
    PyObject *message = recv_now((Subscriber *)object);
    if (message || PyErr_Occurred()) return message;
    if (given[0] == Py_None) timeout = (struct timeout){.seconds = -1, .deadline_ns = SLIPRING_FOREVER};
    return subscriber_recv_until((Subscriber *)object, &timeout, NULL, NULL, true);
}

PyObject *subscriber_recv_into(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"recv_into", 2, 1, {"buffer", "timeout"}, {NULL}};
    PyObject *given[2] = {NULL, Py_None};
    struct timeout timeout;
    Py_buffer view;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (!timeout_parse(given[1], &timeout)) return NULL;
    if (!buffer_get_target(given[0], &view)) return NULL;
    PyObject *message = subscriber_recv_until((Subscriber *)object, &timeout, &view, given[0], false);
    PyBuffer_Release(&view);
    return message;
}

PyObject *subscriber_next(PyObject *object) {
    Subscriber *self = (Subscriber *)object;
    PyObject *message = recv_now(self);
    if (!message && !PyErr_Occurred()) {
        struct timeout forever = {.seconds = -1, .deadline_ns = SLIPRING_FOREVER};
        message = subscriber_recv_until(self, &forever, NULL, NULL, true);
    }
    /* Closing ends the iteration. */
    if (!message && self->handle.closing && (SLR_DEFECT(interrupt_ends_iteration) || closed_is_raised())) PyErr_Clear();
    return message;
}

PyObject *subscriber_iter(PyObject *self) {
    Py_INCREF(self);
    return self;
}
