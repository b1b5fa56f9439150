/* SPDX-License-Identifier: Apache-2.0
 *
 * sub.view(): a context manager whose target is the next message in place, or None after the time-out.
 */
#include "handles/free_list.h"
#include "native.h"

typedef struct View {
    PyObject_HEAD
    Subscriber *subscriber;
    PyObject *message;
    struct timeout timeout;
    bool used;
} View;

PyTypeObject *view_type;
static struct free_list free_list;

PyObject *subscriber_view(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"view", 1, 0, {"timeout"}, {NULL}};
    PyObject *given[1] = {Py_None};
    struct timeout timeout;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (!timeout_parse(given[0], &timeout)) return NULL;
    View *view = free_list_take(&free_list);
    if (!view && !(view = PyObject_New(View, view_type))) return NULL;
    Py_INCREF(self);
    view->subscriber = (Subscriber *)self;
    view->message = NULL;
    view->timeout = timeout;
    view->used = false;
    return (PyObject *)view;
}

/* keep(subscriber, seq): the messages that it has read from seq on stay in the ring. */
PyObject *native_keep(PyObject *module, PyObject *args) {
    Subscriber *self;
    unsigned long long seq;
    int code = SLIPRING_OK;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!K:keep", subscriber_type, &self, &seq) || !subscriber_enter(self)) return NULL;
    if (self->sub) code = slipring_subscriber_keep(self->sub, seq);
    subscriber_leave(self);
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

static void release_hold(PyObject *owner, uint64_t seq) {
    Subscriber *self = (Subscriber *)owner;
    handle_lock(&self->handle);
    slipring_subscriber_release(self->sub, seq);
    subscriber_leave(self);
}

/* The region takes over the hold's use of the handle. */
static PyObject *held_message(Subscriber *self, const slipring_message *m) {
    PyObject *message = NULL;
    bool named = names_are(&self->names, m);
    if (!named) {
        meta_copy(&self->names.next, m); /* held, and so not overwritten */
        named = names_become(&self->names, &self->names.next);
    }
    PyObject *region = named ? region_new((PyObject *)self, (void *)(uintptr_t)m->body, m->size, false, release_hold, m->seq) : NULL;
    if (!region) {
        slipring_subscriber_release(self->sub, m->seq);
        subscriber_leave(self);
        return NULL;
    }
    /* Own references: another thread may receive while the memoryview is created. */
    PyObject *sender = self->names.sender, *type = self->names.type;
    Py_INCREF(sender);
    Py_INCREF(type);
    handle_unlock(&self->handle);
    PyObject *body = region_memoryview(region);
    Py_DECREF(region);
    if (body) message = message_new(body, sender, type, self->topic, self->decoder, m->seq, m->time_ns);
    Py_DECREF(sender);
    Py_DECREF(type);
    return message;
}

static PyObject *view_enter(PyObject *object, PyObject *ignored) {
    View *view = (View *)object;
    Subscriber *self = view->subscriber;
    slipring_message m;
    (void)ignored;
    if (view->used) {
        PyErr_SetString(PyExc_RuntimeError, "this view was already entered: call view() for each message");
        return NULL;
    }
    if (!subscriber_enter(self)) return NULL;
    view->used = true;
    for (int again = 1;;) {
        int code = self->sub ? slipring_subscriber_hold(self->sub, &m) : SLIPRING_EMPTY;
        if (code == SLIPRING_OK) break;
        if (code == SLIPRING_EMPTY && again > 0) {
            again = subscriber_wait(self, &view->timeout);
            if (again > 0 || (again == 0 && !view->timeout.never_waits)) continue;
        } else if (code != SLIPRING_EMPTY) {
            raise_code(code);
        }
        subscriber_leave(self);
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    view->message = held_message(self, &m);
    Py_XINCREF(view->message);
    return view->message;
}

static PyObject *view_exit(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
    View *view = (View *)object;
    (void)args, (void)nargs;
    if (!view->message) Py_RETURN_NONE;
    PyObject *result = region_release(((Message *)view->message)->body);
    /* Arrays and slices of the body are still in use: the message stays held until they are gone. */
    if (!result && PyErr_ExceptionMatches(PyExc_BufferError)) PyErr_Clear();
    Py_XDECREF(result);
    Py_CLEAR(view->message);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static void view_dealloc(PyObject *object) {
    View *view = (View *)object;
    Py_XDECREF(view->message);
    Py_DECREF(view->subscriber);
    free_list_give(&free_list, object);
}

static PyMethodDef view_methods[] = {{"__enter__", view_enter, METH_NOARGS, NULL},
                                     {"__exit__", (PyCFunction)(void (*)(void))view_exit, METH_FASTCALL, NULL},
                                     {NULL, NULL, 0, NULL}};
static PyType_Slot view_slots[] = {{Py_tp_dealloc, view_dealloc}, {Py_tp_methods, view_methods}, {0, NULL}};
static PyType_Spec view_spec = {.name = "slipring.View",
                                .basicsize = sizeof(View),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = view_slots};

bool view_type_ready(PyObject *module) { return (view_type = add_type(module, &view_spec)) != NULL; }
