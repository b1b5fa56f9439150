/* SPDX-License-Identifier: Apache-2.0
 *
 * pub._send_precommit(body, type, sender, time_ns, fd, note, seq_at) sends without waiting. After it wrote the message and
 * before it makes the message readable, it writes `note` to the beginning of the file `fd`, with the message's sequence at
 * offset `seq_at`. Whenever the process is killed, this one small pwrite either happened or did not.
 *
 * pub._send_rows_precommit(data, offsets, first, count, type, sender, fd, note) does the same for `count` values of an Arrow
 * column from `first` on, until there is no room, and returns the number of sent values and the last sequence. The note has
 * the format of origin.py: 8 bytes, the place before and the place after. A place is four words: number, count, lost,
 * sequence. For each row the place after becomes the place before, and number and count increase by one.
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
        raise_bad_argument("note", "note has %zd bytes: it must have 8 to 256, 8 of them at seq_at=%zd", size, seq_at);
        return false;
    }
    *out = (struct note){.fd = fd, .size = (size_t)size, .seq_at = (size_t)seq_at};
    memcpy(out->bytes, bytes, out->size);
    return true;
}

PyObject *publisher_send_precommit(PyObject *object, PyObject *args) {
    Publisher *self = (Publisher *)object;
    PyObject *body_object, *type_text, *sender_text;
    long long time_ns;
    const char *bytes, *type, *sender;
    Py_ssize_t note_size, seq_at, type_size, sender_size;
    struct body body;
    struct note note;
    uint64_t seq = 0;
    int fd, code = SLIPRING_OK;
    if (!PyArg_ParseTuple(args, "OOOLiy#n:_send_precommit", &body_object, &type_text, &sender_text, &time_ns, &fd, &bytes,
                          &note_size, &seq_at) ||
        !note_get(fd, bytes, note_size, seq_at, &note) || !text_get(type_text, "type", &type, &type_size) ||
        !text_get(sender_text, "sender", &sender, &sender_size) || !body_get(body_object, &body))
        return NULL;
    if (publisher_enter(self)) {
        code = slipring_publisher_send_precommit(self->pub, body.data, (size_t)body.size, type, (size_t)type_size, sender,
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

enum { WORDS = 4, BEFORE_AT = 8, AFTER_AT = BEFORE_AT + WORDS * 8, ROWS_NOTE = AFTER_AT + WORDS * 8, ROWS_SEQ_AT = ROWS_NOTE - 8 };

/* The place after the last row is the place before the next. */
static void note_next(struct note *note) {
    uint64_t after[WORDS];
    memcpy(after, note->bytes + AFTER_AT, sizeof after);
    memcpy(note->bytes + BEFORE_AT, after, sizeof after);
    after[0]++;
    after[1]++;
    memcpy(note->bytes + AFTER_AT, after, sizeof after);
}

struct rows {
    struct body data, offsets;
    Py_ssize_t first, count;
    const char *type, *sender;
    Py_ssize_t type_size, sender_size;
};

/* Gets a value of the column; false if its offsets lie outside of the data. */
static bool row_get(const struct rows *rows, Py_ssize_t row, const char **body, size_t *size) {
    int32_t ends[2];
    memcpy(ends, (const char *)rows->offsets.data + (size_t)(rows->first + row) * sizeof *ends, sizeof ends);
    if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > rows->data.size) return false;
    *body = (const char *)rows->data.data + ends[0];
    *size = (size_t)(ends[1] - ends[0]);
    return true;
}

enum { BAD_OFFSETS = 1 }; /* not a code of the core; those are negative */

/* Sends until there is no room. The code is OK then, and when all rows are sent. */
static int send_rows(Publisher *self, const struct rows *rows, struct note *note, Py_ssize_t *sent, uint64_t *seq) {
    for (*sent = 0; *sent < rows->count; ++*sent) {
        const char *body;
        size_t size;
        if (!row_get(rows, *sent, &body, &size)) return BAD_OFFSETS;
        int code = slipring_publisher_send_precommit(self->pub, body, size, rows->type, (size_t)rows->type_size, rows->sender,
                                                 (size_t)rows->sender_size, 0, write_note, note, seq);
        if (code == SLIPRING_FULL) return SLIPRING_OK;
        if (code) return code;
        note_next(note);
    }
    return SLIPRING_OK;
}

static PyObject *rows_send(Publisher *self, const struct rows *rows, struct note *note) {
    uint64_t seq = 0;
    Py_ssize_t sent = 0, known = rows->offsets.size / (Py_ssize_t)sizeof(int32_t) - 1;
    if (rows->first < 0 || rows->count < 0 || rows->first > known || rows->count > known - rows->first) {
        raise_bad_argument("count", "first=%zd and count=%zd must lie within the column, which has %zd rows", rows->first, rows->count, known);
        return NULL;
    }
    if (!publisher_enter(self)) return NULL;
    PyThreadState *state = handle_release_gil(&self->handle);
    int code = send_rows(self, rows, note, &sent, &seq);
    handle_retake_gil(&self->handle, state);
    publisher_leave(self);
    if (note->error) {
        errno = note->error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (code == BAD_OFFSETS) {
        raise_bad_argument("offsets", "the offsets of row %zd lie outside of the column's data", rows->first + sent);
        return NULL;
    }
    if (code) return raise_code(code);
    return Py_BuildValue("nK", sent, (unsigned long long)seq);
}

PyObject *publisher_send_rows_precommit(PyObject *object, PyObject *args) {
    PyObject *data, *offsets, *type_text, *sender_text, *result = NULL;
    const char *bytes;
    Py_ssize_t note_size;
    struct rows rows;
    struct note note;
    int fd;
    if (!PyArg_ParseTuple(args, "OOnnOOiy#:_send_rows_precommit", &data, &offsets, &rows.first, &rows.count, &type_text,
                          &sender_text, &fd, &bytes, &note_size) ||
        !text_get(type_text, "type", &rows.type, &rows.type_size) ||
        !text_get(sender_text, "sender", &rows.sender, &rows.sender_size))
        return NULL;
    if (note_size != ROWS_NOTE) {
        raise_bad_argument("note", "note has %zd bytes: it must have %d", note_size, ROWS_NOTE);
        return NULL;
    }
    if (!note_get(fd, bytes, note_size, ROWS_SEQ_AT, &note) || !body_get(data, &rows.data)) return NULL;
    if (body_get(offsets, &rows.offsets)) {
        result = rows_send((Publisher *)object, &rows, &note);
        body_release(&rows.offsets);
    }
    body_release(&rows.data);
    return result;
}
