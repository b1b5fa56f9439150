/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling a batch in one pass. Values that many rows share are written once: types and senders at the end of their run,
 * constants when the batch is exported.
 */
#include "columns/columns.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "columns/buffer_pool.h"

#define MOST_BYTES (INT64_C(1) << 30) /* offsets are 32 bits wide */
#define TEXTS (COLUMN_BIT(TOPIC) | COLUMN_BIT(SENDER) | COLUMN_BIT(TYPE) | COLUMN_BIT(VALUE) | COLUMN_BIT(HOST))
#define NAMES (COLUMN_BIT(SENDER) | COLUMN_BIT(TYPE))
/* Columns that are null in a hole. */
#define ABSENT (COLUMN_BIT(TIMESTAMP) | COLUMN_BIT(TIMESTAMP_NS) | NAMES | COLUMN_BIT(VALUE))

static inline bool reserve(struct bytes_column *c, int64_t more) {
    if (c->used + more <= c->room) return true;
    int64_t room = c->room ? c->room : 4000; /* just below a power of two, which fits a block of the pool */
    while (room < c->used + more) room *= 2;
    char *data = pool_grow(c->data, (size_t)c->used, (size_t)room);
    if (!data) return false;
    c->data = data;
    c->room = room;
    return true;
}

bool batch_start(struct batch *b, unsigned asked, int64_t limit, int64_t expected) {
    memset(b, 0, offsetof(struct batch, run));
    b->asked = asked;
    b->limit = limit;
    bool enough = true;
    for (int i = 0; i < COLUMNS; i++) {
        if (!(asked & 1u << i)) continue;
        if (!(TEXTS & 1u << i)) {
            b->numbers[i] = pool_take((size_t)(limit ? limit : 1) * sizeof **b->numbers);
            enough = enough && b->numbers[i];
            continue;
        }
        struct bytes_column *c = &b->texts[i];
        c->ends = pool_take((size_t)(limit + 1) * sizeof *c->ends);
        enough = enough && c->ends && reserve(c, i == COLUMN_VALUE && expected ? expected : 1);
        if (c->ends) c->ends[0] = 0;
    }
    return enough;
}

void batch_free(struct batch *b) {
    for (int i = 0; i < COLUMNS; i++) {
        pool_give(b->numbers[i]);
        pool_give(b->texts[i].ends);
        pool_give(b->texts[i].data);
    }
    free(b->holes);
}

/* Names ----------------------------------------------------------------------------------------------------- */

/* The length of the UTF-8 sequence at p; 0 if it is invalid. */
static size_t utf8_length(const unsigned char *p, size_t left) {
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

/* Types and senders from other programs are not always UTF-8; Arrow's columns must be. */
static void make_utf8(char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((unsigned char *)text + i, size - i);
        if (length == 0) text[i] = '?';
        i += length ? length : 1;
    }
}

/* Writes the same text into count rows: copies it once, then doubles the copied part. */
static bool repeat(struct bytes_column *c, int64_t row, const char *text, size_t size, int64_t count) {
    if (!c->ends) return true; /* not requested */
    size_t all = size * (size_t)count;
    if (!reserve(c, (int64_t)all)) return false;
    char *to = c->data + c->used;
    for (size_t done = 0, part; done < all; done += part) {
        part = done ? (done < all - done ? done : all - done) : size;
        memcpy(to + done, done ? to : text, part);
    }
    for (int64_t i = 1; i <= count; i++) c->ends[row + i] = (int32_t)(c->used + i * (int64_t)size);
    c->used += (int64_t)all;
    return true;
}

static bool end_run(struct batch *b) {
    const struct run *run = &b->run;
    int64_t count = b->run_begun ? b->rows - run->row : 0;
    b->run_begun = false;
    return repeat(&b->texts[COLUMN_TYPE], run->row, run->names, run->meta.type_size, count) &&
           repeat(&b->texts[COLUMN_SENDER], run->row, run->names + run->meta.type_size, run->meta.sender_size, count);
}

static bool begin_run(struct batch *b, const slipring_message *m) {
    struct run *run = &b->run;
    if (!end_run(b)) return false;
    b->run_begun = true;
    run->row = b->rows;
    meta_copy(&run->meta, m);
    memcpy(run->names, run->meta.words, (size_t)m->type_size + m->sender_size);
    make_utf8(run->names, m->type_size);
    make_utf8(run->names + m->type_size, m->sender_size);
    return true;
}

/* Rows ------------------------------------------------------------------------------------------------------ */

static inline void number(struct batch *b, enum column column, int64_t value) {
    if (b->numbers[column]) b->numbers[column][b->rows] = value;
}

bool batch_take(struct batch *b, const slipring_message *m) {
    struct bytes_column *value = &b->texts[COLUMN_VALUE];
    if (b->rows == b->limit) return false;
    if (!(b->run_begun && meta_is(&b->run.meta, m)) && !begin_run(b, m)) b->no_memory = true;
    if (value->ends) {
        if (value->used + m->size > MOST_BYTES) return false;
        if (!reserve(value, m->size)) b->no_memory = true;
        if (b->no_memory) return false;
        slipring_copy(value->data + value->used, m->body, m->size);
        value->used += m->size;
        value->ends[b->rows + 1] = (int32_t)value->used;
    }
    if (b->no_memory) return false;
    number(b, COLUMN_OFFSET, (int64_t)m->seq);
    number(b, COLUMN_TIMESTAMP, m->time_ns / 1000);
    number(b, COLUMN_TIMESTAMP_NS, m->time_ns);
    number(b, COLUMN_SPAN, 1);
    number(b, COLUMN_LOST, 0);
    b->rows++;
    return true;
}

/* Messages of one call have the same time. The division is the most expensive step of a row. */
static void into_micros(int64_t *micros, const int64_t *nanos, int64_t from, int64_t to) {
    int64_t known = 0, micro = 0;
    for (int64_t i = from; i < to; i++) {
        int64_t nano = nanos[i];
        if (nano != known) {
            known = nano;
            micro = nano / 1000;
        }
        micros[i] = micro;
    }
}

bool batch_take_run(struct batch *b, slipring_subscriber *sub, int64_t most) {
    struct bytes_column *value = &b->texts[COLUMN_VALUE];
    int64_t *micros = b->numbers[COLUMN_TIMESTAMP], *nanos = b->numbers[COLUMN_TIMESTAMP_NS], before = b->rows;
    if (most > b->limit - b->rows) most = b->limit - b->rows;
    if (!b->run_begun || most == 0) return false;
    slipring_columns c = {.rows = (size_t)before,
                          .seqs = b->numbers[COLUMN_OFFSET],
                          .times_ns = nanos ? nanos : micros,
                          .meta_words = b->run.meta.words,
                          .type_size = b->run.meta.type_size,
                          .sender_size = b->run.meta.sender_size};
    if (value->ends) {
        c.ends = value->ends + 1;
        c.data = (uint8_t *)value->data;
        c.data_used = (size_t)value->used;
        c.data_room = (size_t)(value->room < MOST_BYTES ? value->room : MOST_BYTES);
    }
    if (!slipring_subscriber_take_columns(sub, &c, (size_t)most)) return false;
    b->rows = (int64_t)c.rows;
    value->used = (int64_t)c.data_used;
    if (micros) into_micros(micros, c.times_ns, before, b->rows);
    for (int64_t i = before; b->numbers[COLUMN_SPAN] && i < b->rows; i++) b->numbers[COLUMN_SPAN][i] = 1;
    for (int64_t i = before; b->numbers[COLUMN_LOST] && i < b->rows; i++) b->numbers[COLUMN_LOST][i] = 0;
    return true;
}

bool batch_take_hole(struct batch *b, uint64_t first, uint64_t span, uint64_t lost) {
    if (b->rows == b->limit) return false;
    if (b->hole_count == b->hole_room) {
        int64_t room = b->hole_room ? 2 * b->hole_room : 16;
        int64_t *holes = realloc(b->holes, (size_t)room * sizeof *holes);
        b->no_memory = b->no_memory || !holes;
        if (!holes) return false;
        b->holes = holes;
        b->hole_room = room;
    }
    b->no_memory = b->no_memory || !end_run(b) || !repeat(&b->texts[COLUMN_TYPE], b->rows, "", 0, 1) ||
                   !repeat(&b->texts[COLUMN_SENDER], b->rows, "", 0, 1) || !repeat(&b->texts[COLUMN_VALUE], b->rows, "", 0, 1);
    if (b->no_memory) return false;
    number(b, COLUMN_OFFSET, (int64_t)first);
    number(b, COLUMN_TIMESTAMP, 0);
    number(b, COLUMN_TIMESTAMP_NS, 0);
    number(b, COLUMN_SPAN, (int64_t)span);
    number(b, COLUMN_LOST, (int64_t)lost);
    b->holes[b->hole_count++] = b->rows++;
    return true;
}

void batch_cut(struct batch *b, int64_t rows) {
    b->rows = rows;
    if (b->texts[COLUMN_VALUE].ends) b->texts[COLUMN_VALUE].used = b->texts[COLUMN_VALUE].ends[rows];
    if (b->run_begun && b->run.row >= rows) b->run_begun = false;
}

/* Handing over ---------------------------------------------------------------------------------------------- */

static void fill(int64_t *numbers, int64_t rows, int64_t value) {
    for (int64_t i = 0; numbers && i < rows; i++) numbers[i] = value;
}

/* One bit for each row, clear for holes. */
static unsigned char *validity(const struct batch *b) {
    unsigned char *bits = pool_take((size_t)b->rows / 8 + 1);
    if (!bits) return NULL;
    memset(bits, 0xff, (size_t)b->rows / 8 + 1);
    for (int64_t i = 0; i < b->hole_count; i++) bits[b->holes[i] / 8] &= (unsigned char)~(1u << b->holes[i] % 8);
    return bits;
}

PyObject *batch_hand_over(struct batch *b, const struct batch_constants *constants) {
    struct column_buffers columns[COLUMNS];
    int count = 0;
    const char *host = constants->host ? constants->host : "";
    bool enough = end_run(b) && repeat(&b->texts[COLUMN_TOPIC], 0, constants->topic, strlen(constants->topic), b->rows) &&
                  repeat(&b->texts[COLUMN_HOST], 0, host, strlen(host), b->rows);
    fill(b->numbers[COLUMN_GENERATION], b->rows, constants->generation);
    fill(b->numbers[COLUMN_RECEIVED_NS], b->rows, constants->received_ns);
    for (int i = 0; i < COLUMNS; i++) {
        if (!(b->asked & 1u << i)) continue;
        bool text = TEXTS & 1u << i, holes = b->hole_count && ABSENT & 1u << i;
        columns[count] = (struct column_buffers){.column = (enum column)i, .nulls = holes ? b->hole_count : 0};
        columns[count].buffers[0] = holes ? validity(b) : NULL;
        columns[count].buffers[1] = text ? (void *)b->texts[i].ends : (void *)b->numbers[i];
        columns[count].buffers[2] = text ? b->texts[i].data : NULL;
        enough = enough && (!holes || columns[count].buffers[0]);
        b->numbers[i] = NULL;
        b->texts[i].ends = NULL;
        b->texts[i].data = NULL;
        count++;
    }
    if (enough) return arrow_capsules(b->rows, b->nullable, columns, count);
    for (int i = 0; i < 3 * count; i++) pool_give(columns[i / 3].buffers[i % 3]);
    return PyErr_NoMemory();
}
