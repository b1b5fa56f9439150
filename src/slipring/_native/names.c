/* SPDX-License-Identifier: Apache-2.0
 *
 * Type and sender of a message as Python strings. The last ones seen are kept: almost always the next message has the
 * same, and comparing a word or two is all that its names cost.
 */
#include "native.h"

bool names_become(struct names *names, const struct meta *meta) {
    const char *bytes = (const char *)meta->words;
    /* Another program's bytes need not be UTF-8. */
    PyObject *type = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)meta->type_size, "replace");
    PyObject *sender = type ? PyUnicode_DecodeUTF8(bytes + meta->type_size, (Py_ssize_t)meta->sender_size, "replace") : NULL;
    if (!sender) {
        Py_XDECREF(type);
        return false;
    }
    names_clear(names);
    names->type = type;
    names->sender = sender;
    names->meta = *meta;
    return true;
}

void names_clear(struct names *names) {
    Py_CLEAR(names->type);
    Py_CLEAR(names->sender);
}
