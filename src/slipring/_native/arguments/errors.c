/* SPDX-License-Identifier: Apache-2.0
 *
 * Exceptions from codes of the core. Python registers the function that makes them (from_core in slipring/errors.py).
 */
#include "native.h"

#include <stdarg.h>

static PyObject *error_factory;

PyObject *set_error_factory(PyObject *module, PyObject *factory) {
    (void)module;
    Py_XDECREF(error_factory);
    Py_INCREF(factory);
    error_factory = factory;
    Py_RETURN_NONE;
}

static PyObject *closed_class; /* known after it was first raised */

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

PyObject *raise_bad_argument(const char *argument, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *text = PyUnicode_FromFormatV(format, values);
    va_end(values);
    if (!text && PyErr_ExceptionMatches(PyExc_ValueError)) { /* a number with thousands of digits has no repr */
        PyErr_Clear();
        text = PyUnicode_FromFormat("%s has a value that is not allowed", argument);
    }
    if (text) raise_text(SLIPRING_BAD_ARGUMENT, text, argument);
    Py_XDECREF(text);
    return NULL;
}

PyObject *raise_wrong_type(const char *argument, const char *allowed, PyObject *found) {
    PyObject *name = PyType_GetName(Py_TYPE(found));
    if (name) PyErr_Format(PyExc_TypeError, "%s must be %s, not %U", argument, allowed, name);
    Py_XDECREF(name);
    return NULL;
}
