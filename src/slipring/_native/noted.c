/* SPDX-License-Identifier: Apache-2.0
 *
 * pub._send_noted(body, type, sender, time_ns, fd, note, seq_at): sends without waiting and, between writing the
 * message and making it readable, writes `note` to the beginning of the file `fd`, with the message's sequence at
 * `seq_at` of it. One small pwrite either happened or did not, whenever the process is killed.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

#define MOST_NOTE 256

struct note {
    int fd;
    size_t size, seq_at;
    char bytes[MOST_NOTE];
    int error;
};

static int write_note(void *context, uint64_t seq) {
    struct note *note = context;
    ssize_t written;
    memcpy(note->bytes + note->seq_at, &seq, sizeof seq);
    do written = pwrite(note->fd, note->bytes, note->size, 0);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)note->size) return SLIPRING_OK;
    note->error = written < 0 ? errno : ENOSPC;
    return SLIPRING_SYSTEM;
}

static bool note_get(int fd, const char *bytes, Py_ssize_t size, Py_ssize_t seq_at, struct note *out) {
    if (size < (Py_ssize_t)sizeof(uint64_t) || size > MOST_NOTE || seq_at < 0 || seq_at > size - (Py_ssize_t)sizeof(uint64_t)) {
        raise_bad_argument("note", "note must have 8 to 256 bytes, 8 of them at seq_at");
        return false;
    }
    *out = (struct note){.fd = fd, .size = (size_t)size, .seq_at = (size_t)seq_at};
    memcpy(out->bytes, bytes, out->size);
    return true;
}

PyObject *publisher_send_noted(PyObject *object, PyObject *args) {
    Publisher *self = (Publisher *)object;
    PyObject *body_object, *type_text, *sender_text;
    long long time_ns;
    const char *bytes, *type, *sender;
    Py_ssize_t note_size, seq_at, type_size, sender_size;
    struct body body;
    struct note note;
    uint64_t seq = 0;
    int fd, code = SLIPRING_OK;
    if (!PyArg_ParseTuple(args, "OOOLiy#n:_send_noted", &body_object, &type_text, &sender_text, &time_ns, &fd, &bytes,
                          &note_size, &seq_at) ||
        !note_get(fd, bytes, note_size, seq_at, &note) || !text_get(type_text, "type", &type, &type_size) ||
        !text_get(sender_text, "sender", &sender, &sender_size) || !body_get(body_object, &body))
        return NULL;
    if (publisher_enter(self)) {
        code = slipring_publisher_send_noted(self->pub, body.data, (size_t)body.size, type, (size_t)type_size, sender,
                                             (size_t)sender_size, time_ns, write_note, &note, &seq);
        publisher_leave(self);
    }
    body_release(&body);
    if (note.error) {
        errno = note.error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (code) raise_code(code);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(seq);
}
