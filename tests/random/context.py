"""What all parts of the generator share: the dice, the features that a program
mixes, and the names in use."""

import random

# Feature: how often a program has it, roughly as often as programs of the survey do. Those that
# restride is known to refuse come last and seldom: a refused array tests nothing else.
FEATURES = {
    # records
    "nested": 10, "nested-array": 3, "member-array": 13, "array-2d": 4, "mixed-sizes": 16, "bool": 8, "enum": 6,
    "enum-class": 3, "vector-field": 6, "user-vector": 6, "typedef-struct": 10, "class-public": 5, "namespace": 6,
    "constructor": 6, "const-method": 6, "static-method": 3, "operator": 4, "operator-compound": 2, "header": 9,
    "single-field": 2, "many-fields": 6, "aligned-record": 4, "awkward-names": 8,
    # uses on the device
    "whole-load": 26, "whole-store": 20, "element-copy": 10, "aggregate": 8, "pointer-alias": 12, "reference-alias": 8,
    "offset-alias": 6, "alias-then-change": 5, "arrow": 8, "star": 5, "nested-whole": 8, "atomic": 8, "pass-pointer": 12,
    "pass-offset": 8, "pass-address": 6, "pass-value": 6, "pass-const-reference": 6, "return-record": 6,
    "return-pointer": 3, "template-function": 5, "host-device-function": 5, "prototype": 5, "uniform-loop": 20,
    "divergence": 20, "switch": 4, "indirect": 15, "permutation": 6, "staging": 8, "shared-fields": 10, "restrict": 15,
    "kernel-template": 10, "two-arrays": 14, "two-records": 8, "view": 4, "grid-stride": 6, "side-effect-index": 5,
    "odd-index": 10, "low-precedence": 10, "index-pointer": 2, "shadowing": 8, "macro-argument": 8, "auto": 8, "ldg": 3,
    "null-test": 4, "guard-block": 8, "local-array": 4, "block-2d": 5, "chained": 5, "conditional-value": 6,
    "reads-only": 25, "conversion-index": 5, "nested-access": 8, "reassigned": 4, "comma": 2, "pass-twice": 3, "unbraced": 12,
    "declared-pairs": 5, "dot-method": 4, "parentheses": 5, "value-of-change": 5, "binding": 2, "device-lambda": 4,
    "pass-member-array": 5, "range-for": 3, "row-column": 6, "trivia": 6, "elaborated": 6, "type-alias": 4, "dynamic-shared": 3,
    "if-initialiser": 2, "late-alias": 3, "empty-value": 4, "comparison": 4, "exchange": 4, "overload": 4, "device-namespace": 5,
    "kernel-attributes": 6, "pointer-style": 15, "shuffled-parameters": 8,
    # the host
    "size-variable": 18, "size-macro": 6, "sizeof-element": 6, "check-macro": 35, "check-function": 5, "prefix-copy": 10,
    "offset-copy": 8, "device-copy": 8, "memset": 9, "async": 12, "pinned": 8, "host-new": 8, "host-vector": 10,
    "host-static": 5, "managed": 10, "swap": 14, "make-function": 5, "host-function": 15, "struct-holder": 6,
    "class-holder": 5, "global-pointer": 6, "capacity": 5, "reallocate": 3, "null-initialised": 8, "lambda": 4,
    "offset-launch": 5, "async-allocation": 3, "launch-function": 8, "constant-array": 5, "device-array": 3, "element-download": 4,
    "host-loop": 10, "chunked-copy": 4, "check-if": 6, "element-upload": 4, "vector-size": 4, "print-size": 3, "several-launches": 12, "declared-together": 10,
    "separate-arrays": 15, "pointer-struct": 6,
    # what restride refuses
    "private-fields": 2, "mutating-method": 2, "pass-reference": 2, "out-parameter": 2, "pointer-walk": 1,
    "member-address": 1, "member-reference": 1, "element-condition": 1, "field-download": 1, "template-record": 2,
    "return-reference": 2,
    "two-units": 4, "mixed-callers": 2, "host-callers": 2, "self-assign": 1,
}

# Names that people give; each also has to be safe as a local name.
FIELD_NAMES = ("x y z vx vy vz mass charge id alive kind weight count flags key value next age temp rho u v w re im "
               "lo hi left right cost phase px py pz energy radius color cell hits level used state score").split()
AWKWARD_FIELDS = "n i p r e base data size load store at q k t tile index ptr self a b".split()
RECORD_NAMES = "Particle Body Node Cell Item Point Ray Atom Pixel Sample Entry Site Agent Edge Bucket Voxel".split()
AWKWARD_RECORDS = "P T PSoA N Tile E particle_t _Rec data_s".split()
PART_NAMES = "Vec3 Complex Range Pair Span Link Color Vec2 Weight Stats".split()
FUNCTION_NAMES = "update blend touch mix probe gather move scale apply total pick shift damp peek fold step relax".split()
KERNEL_NAMES = "advance init kern scatter collide integrate transform reduceFields sweep bounce push accumulate".split()
POINTER_NAMES = "p q a b src dst in out items parts data cells list arr nodes".split()


class Context:
    def __init__(self, seed, mixed=None, wanted=()):
        self.rng = random.Random(seed)
        self.mixed = mixed if mixed is not None else self.rng.choice([4, 7, 10, 14, 20, 30])
        self.features = self._draw(self.mixed) | set(wanted)
        self.taken = set()  # names at namespace scope
        self.records, self.functions, self.kernels = [], [], []
        self.atomics = {}  # (record, field): the one atomic that changes it
        self.steppers = {}  # record: a function that gives p + k
        self.references = set()  # records for which it gives p[k]
        self.exchanges = {}  # record: a function that swaps two of them
        self.adders = {}  # type: a function that adds up a member array
        self.square = ""  # a macro's name

    def _draw(self, count):
        left, drawn = dict(FEATURES), set()
        while len(drawn) < count and left:
            name = self.rng.choices(list(left), list(left.values()))[0]
            del left[name]
            drawn.add(name)
        return drawn

    def has(self, feature):
        return feature in self.features

    def chance(self, probability):
        return self.rng.random() < probability

    def sometimes(self, feature, probability=0.5):
        """Whether the program has the feature and the dice want it here."""
        return self.has(feature) and self.chance(probability)

    def pointer(self, type, name, const):
        """The declaration of a pointer, in one of the ways people write it."""
        if not self.has("pointer-style"):
            return f"{'const ' if const else ''}{type} *{name}"
        star = self.pick([" *", "* ", " * "])
        return self.pick([f"const {type}{star}{name}", f"{type} const{star}{name}"]) if const else f"{type}{star}{name}"

    def adder(self, type):
        if type not in self.adders:
            self.adders[type] = self.global_name(["total", "sum_of"])
        return self.adders[type]

    def pick(self, choices):
        return self.rng.choice(list(choices))

    def number(self, low, high):
        return self.rng.randint(low, high)

    def sample(self, choices, count):
        choices = list(choices)
        return self.rng.sample(choices, min(count, len(choices)))

    def global_name(self, choices):
        name = fresh(self.pick(choices), self.taken)
        self.taken.add(name)
        return name


def fresh(name, taken):
    """The name, or the name with the first number that makes it new."""
    if name not in taken:
        return name
    number = 2
    while f"{name}{number}" in taken:
        number += 1
    return f"{name}{number}"


class Locals:
    """The names of one function."""

    def __init__(self, context, *taken):
        self.taken = {*context.taken, *taken}

    def new(self, name):
        name = fresh(name, self.taken)
        self.taken.add(name)
        return name
