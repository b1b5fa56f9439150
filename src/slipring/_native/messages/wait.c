/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for several subscribers, and the bell by which another thread ends such a wait.
 */
#include "native.h"

typedef struct Bell {
    PyObject_HEAD
    slipring_bell bell;
} Bell;

PyTypeObject *bell_type;

static PyObject *bell_ring(PyObject *self, PyObject *ignored) {
    (void)ignored;
    slipring_bell_ring(&((Bell *)self)->bell);
    Py_RETURN_NONE;
}

static PyObject *bell_rings(PyObject *self, PyObject *ignored) {
    (void)ignored;
    return PyLong_FromUnsignedLong(__atomic_load_n(&((Bell *)self)->bell.rings, __ATOMIC_SEQ_CST));
}

static PyMethodDef bell_methods[] = {{"ring", bell_ring, METH_NOARGS, "End the wait on this bell."},
                                     {"rings", bell_rings, METH_NOARGS, "Return how often it has rung."},
                                     {NULL, NULL, 0, NULL}};
static PyType_Slot bell_slots[] = {{Py_tp_methods, bell_methods}, {0, NULL}};
static PyType_Spec bell_spec = {
    .name = "slipring._native.Bell", .basicsize = sizeof(Bell), .flags = Py_TPFLAGS_DEFAULT, .slots = bell_slots};

bool bell_type_ready(PyObject *module) { return (bell_type = add_type(module, &bell_spec)) != NULL; }

/* Enters all subscribers of the tuple, and returns the number of attached ones. */
static Py_ssize_t enter_all(PyObject *subscribers, slipring_subscriber **subs, Subscriber **entered, Py_ssize_t *used) {
    Py_ssize_t count = PyTuple_Size(subscribers), attached = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Subscriber *s = (Subscriber *)PyTuple_GetItem(subscribers, i);
        if (!subscriber_enter(s)) return -1;
        handle_unlock(&s->handle);
        entered[(*used)++] = s;
        if (s->sub) subs[attached++] = s->sub;
    }
    return attached;
}

/* wait(subscribers, bell or None, seen_rings, timeout, spin_us): False after the time-out, otherwise True. */
PyObject *native_wait(PyObject *module, PyObject *args) {
    PyObject *subscribers, *bell, *timeout_value;
    unsigned int seen;
    double spin_us;
    struct timeout timeout;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!OIOd", &PyTuple_Type, &subscribers, &bell, &seen, &timeout_value, &spin_us)) return NULL;
    if (!timeout_parse(timeout_value, &timeout)) return NULL;
    Py_ssize_t count = PyTuple_Size(subscribers), used = 0, attached;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyObject_TypeCheck(PyTuple_GetItem(subscribers, i), subscriber_type)) {
            PyErr_SetString(PyExc_TypeError, "subscribers must be Subscriber objects");
            return NULL;
        }
    slipring_subscriber **subs = PyMem_Calloc((size_t)count + 1, sizeof *subs);
    Subscriber **entered = PyMem_Calloc((size_t)count + 1, sizeof *entered);
    int code = SLIPRING_OK;
    if (subs && entered && (attached = enter_all(subscribers, subs, entered, &used)) >= 0) {
        slipring_bell *ringing = bell == Py_None ? NULL : &((Bell *)bell)->bell;
        int64_t deadline = timeout.never_waits ? 1 : timeout_deadline(&timeout);
        /* A topic that does not exist yet has no futex to sleep on: the caller checks every few milliseconds. */
        if (attached < count) {
            int64_t soon = slipring_deadline(0.005);
            if (soon < deadline) deadline = soon;
        }
        Py_BEGIN_ALLOW_THREADS
        code = slipring_wait(subs, (size_t)attached, ringing, seen, deadline, (int64_t)(spin_us * 1000));
        Py_END_ALLOW_THREADS
        if (code == SLIPRING_INTERRUPTED)
            PyErr_CheckSignals();
        else if (code && code != SLIPRING_TIMEOUT)
            raise_code(code);
        else
            PyErr_CheckSignals();
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < used; i++) subscriber_unpin(entered[i]);
    PyMem_Free(subs);
    PyMem_Free(entered);
    if (PyErr_Occurred()) return NULL;
    return PyBool_FromLong(code != SLIPRING_TIMEOUT);
}
