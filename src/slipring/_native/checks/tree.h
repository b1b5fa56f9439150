/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of a check: nodes with the shape of a schema (checked.c), and places of pointers in objects.
 */
#ifndef SLIPRING_CHECKS_TREE_H
#define SLIPRING_CHECKS_TREE_H

#include "native.h"

enum how { CLASS, INT, FLOAT, SIZE, ZONE, MEMBER, TEST, OPTIONAL, ITEMS, VALUES, KEYS, SLOTS, DICT, ATTRIBUTES };

struct node {
    enum how how;
    PyTypeObject *cls; /* the exact class; NULL for OPTIONAL and ITEMS */
    PyObject *object;  /* ZONE: the tzinfo, or None for any; MEMBER: a frozenset; TEST: a predicate */
    long long lowest;
    unsigned long long highest;
    double largest;
    Py_ssize_t least, most; /* of SIZE and ITEMS; most -1: no limit. KEYS: most is the number of keys, or -1 for any */
    int flag;               /* FLOAT: finite; SIZE: no zero at the end */
    PyObject *name;         /* of a field, interned */
    Py_ssize_t offset;      /* of a field of SLOTS in its object */
    struct node *parts;     /* the item, or fields */
    Py_ssize_t count;
};

/* *tree stays NULL for None: everything fits. False with an exception: the program is not a check. */
bool tree_make(struct node **tree, PyObject *program);
void tree_free(struct node **tree);
int tree_visit(struct node *tree, visitproc visit, void *arg); /* the tree may be NULL */

/* Where the items of a tuple begin, and the pointer to those of a list: a call for each item costs more than its check.
 * items_ready finds both in samples; 0: call PyTuple_GetItem and PyList_GetItem. */
extern Py_ssize_t tuple_items, list_items;
bool items_ready(void);

#endif
