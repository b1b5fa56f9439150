/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments by hand: the general parser costs more than sending a message.
 */
#include "native.h"

#include <math.h>
#include <string.h>

static PyObject *error_factory;

PyObject *set_error_factory(PyObject *module, PyObject *factory) {
    (void)module;
    Py_XDECREF(error_factory);
    Py_INCREF(factory);
    error_factory = factory;
    Py_RETURN_NONE;
}

static PyObject *closed_class; /* once it was raised */

static PyObject *raise_from(int code, const char *message, const char *argument, int system_errno, const char *found,
                            const char *asked, const char *bus) {
    PyObject *error =
        PyObject_CallFunction(error_factory, "ississs", code, message, argument, system_errno, found, asked, bus);
    if (!error) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    if (code == SLIPRING_CLOSED && !closed_class) {
        closed_class = (PyObject *)Py_TYPE(error);
        Py_INCREF(closed_class);
    }
    Py_DECREF(error);
    return NULL;
}

PyObject *raise_code_at(int code, const char *bus) {
    const slipring_error *e = slipring_last_error();
    return raise_from(code, e->message, e->argument, e->system_errno, e->found, e->asked, bus);
}

PyObject *raise_code(int code) { return raise_code_at(code, ""); }

void raise_text(int code, PyObject *text, const char *argument) {
    const char *message = PyUnicode_AsUTF8AndSize(text, NULL);
    if (message) raise_from(code, message, argument, 0, "", "", "");
}

PyObject *raise_closed(const char *what) {
    char message[100];
    PyOS_snprintf(message, sizeof message, "this %s is closed", what);
    return raise_from(SLIPRING_CLOSED, message, "", 0, "", "", "");
}

bool closed_is_raised(void) { return closed_class && PyErr_ExceptionMatches(closed_class); }

PyObject *raise_bad_argument(const char *argument, const char *message) {
    return raise_from(SLIPRING_BAD_ARGUMENT, message, argument, 0, "", "", "");
}

/* None and 0 are what almost everybody asks for. */
bool timeout_parse(PyObject *value, struct timeout *out) {
    static PyObject *zero; /* one object for all, as small integers are */
    if (!zero) zero = PyLong_FromLong(0);
    *out = (struct timeout){.seconds = -1, .deadline_ns = SLIPRING_FOREVER, .never_waits = value == zero};
    if (SLR_DEFECT(timeout_of_0_waits)) out->never_waits = false;
    if (value == Py_None || value == zero) return true;
    if (!PyFloat_Check(value) && !PyLong_Check(value) && !PyIndex_Check(value)) {
        PyObject *as_float = PyNumber_Float(value);
        if (!as_float || PyUnicode_Check(value) || PyBytes_Check(value)) {
            Py_XDECREF(as_float);
            PyErr_SetString(PyExc_TypeError, "timeout must be None or a number of seconds");
            return false;
        }
        Py_DECREF(as_float);
    }
    double seconds = PyFloat_AsDouble(value);
    if (seconds == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
        PyErr_Clear(); /* an integer too large for a float */
        PyObject *zero = PyLong_FromLong(0);
        int negative = zero ? PyObject_RichCompareBool(value, zero, Py_LT) : -1;
        Py_XDECREF(zero);
        if (negative < 0) return false;
        seconds = negative ? -1.0 : HUGE_VAL;
    }
    if (isnan(seconds) || seconds < 0) {
        raise_bad_argument("timeout", "timeout must be None or at least 0 seconds");
        return false;
    }
    out->never_waits = seconds == 0;
    out->seconds = seconds > 9e8 ? -1 : seconds;
    return true;
}

int64_t timeout_deadline(struct timeout *t) {
    if (t->seconds >= 0) {
        t->deadline_ns = slipring_deadline(t->seconds);
        if (!SLR_DEFECT(arrivals_extend_a_timeout)) t->seconds = -1;
    }
    return t->deadline_ns;
}

/* Which of the names it is; count: none. */
static size_t position_of(struct signature *s, PyObject *name) {
    for (size_t i = 0; i < s->count; i++) {
        if (!s->interned[i] && !(s->interned[i] = PyUnicode_InternFromString(s->names[i]))) PyErr_Clear();
        if (s->interned[i] == name) return i;
    }
    size_t i = 0; /* a name made at run time */
    while (i < s->count && PyUnicode_CompareWithASCIIString(name, s->names[i]) != 0) i++;
    return i;
}

bool arguments_parse(struct signature *s, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **out) {
    if ((size_t)nargs > s->count) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments (%zd given)", s->function, s->count, nargs);
        return false;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) out[i] = args[i];
    Py_ssize_t keywords = kwnames ? Py_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < keywords; k++) {
        PyObject *name = PyTuple_GetItem(kwnames, k);
        size_t i = position_of(s, name);
        if (i == s->count || i < (size_t)nargs) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected or repeated argument '%U'", s->function, name);
            return false;
        }
        out[i] = args[nargs + k];
    }
    for (size_t i = 0; i < s->required; i++)
        if (!out[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing argument '%s'", s->function, s->names[i]);
            return false;
        }
    return true;
}

/* 1, or 0 with an exception; -1 with one: its memory cannot be described. */
static int copy_scattered(PyObject *object, struct body *out) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object, &out->view, PyBUF_FULL_RO)) return -1;
    if (!buffer_is_plain(&out->view, "body")) return 0;
    out->copy = PyBytes_FromStringAndSize(NULL, out->view.len);
    int failed = !out->copy || PyBuffer_ToContiguous(PyBytes_AsString(out->copy), &out->view, out->view.len, 'C');
    PyBuffer_Release(&out->view);
    if (failed) {
        Py_CLEAR(out->copy);
        return 0;
    }
    out->data = PyBytes_AsString(out->copy);
    out->size = PyBytes_Size(out->copy);
    return 1;
}

/* A bytearray is plain data, and need not be asked. */
static int body_view(PyObject *object, struct body *out) {
    if (PyByteArray_CheckExact(object)) return PyObject_GetBuffer(object, &out->view, PyBUF_SIMPLE) ? 0 : 1;
    return buffer_get(object, "body", PyBUF_SIMPLE, &out->view);
}

/* Its memory is scattered, or has no format. */
static SELDOM bool body_copy(PyObject *object, struct body *out) {
    int copied = SLR_DEFECT(scattered_buffers_refused) ? 0 : copy_scattered(object, out);
    if (copied >= 0) return copied;
    if (!buffer_get_untold(object, "body", PyBUF_SIMPLE, &out->view)) return false;
    out->has_view = true;
    out->data = out->view.buf;
    out->size = out->view.len;
    return true;
}

size_t bytes_contents;

bool bytes_ready(void) {
    PyObject *sample = PyBytes_FromStringAndSize("sample", 6);
    if (!sample) return false;
    bytes_contents = (size_t)(PyBytes_AsString(sample) - (char *)sample);
    Py_DECREF(sample);
    return true;
}

bool body_get(PyObject *object, struct body *out) {
    out->has_view = false;
    out->copy = NULL;
    if (PyBytes_CheckExact(object)) {
        out->data = bytes_data(object);
        out->size = Py_SIZE(object);
        return true;
    }
    if (PyUnicode_Check(object)) {
        const char *hint = "body must be bytes or another buffer, not str: encode it, as in text.encode()";
        PyErr_SetString(PyExc_TypeError, SLR_DEFECT(text_refused_without_hint) ? "body must be bytes" : hint);
        return false;
    }
    if (!PyObject_CheckBuffer(object)) {
        PyErr_Format(PyExc_TypeError, "body must be bytes or another object with a buffer, not %R", Py_TYPE(object));
        return false;
    }
    int got = body_view(object, out);
    if (got <= 0) return got < 0 && body_copy(object, out);
    out->has_view = true;
    out->data = out->view.buf;
    out->size = out->view.len;
    return true;
}

void body_release(struct body *body) {
    if (body->has_view) PyBuffer_Release(&body->view);
    Py_CLEAR(body->copy);
}

/* body_bytes(body): a copy of what would be sent. */
PyObject *native_body_bytes(PyObject *module, PyObject *object) {
    struct body body;
    (void)module;
    if (!body_get(object, &body)) return NULL;
    PyObject *copy = PyBytes_FromStringAndSize(body.data, body.size);
    body_release(&body);
    return copy;
}

bool text_get(PyObject *object, const char *argument, const char **data, Py_ssize_t *size) {
    *data = "";
    *size = 0;
    if (!object) return true;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be str, not %R", argument, Py_TYPE(object));
        return false;
    }
    *data = PyUnicode_AsUTF8AndSize(object, size);
    if (!*data && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        char message[100];
        PyErr_Clear();
        PyOS_snprintf(message, sizeof message, "%s cannot be encoded as UTF-8: it has lone surrogates", argument);
        raise_bad_argument(argument, message);
    }
    return *data != NULL;
}
