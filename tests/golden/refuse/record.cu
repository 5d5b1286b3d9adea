// Records whose elements no layout can take apart.
// RUN: %restride --list %s -- -std=c++17 | FileCheck %s

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Union' is a union, whose members share memory
union Union {
  float x;
  int n;
};

struct BitField {
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: field 'n' is a bit-field, which has no address of its own
  int n : 3;
};

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Virtual' has virtual functions
struct Virtual {
  float x;
  __host__ __device__ virtual void f() {}
};

struct Base {
  float x;
};
// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: field 'x' of the base class 'Base' is hidden
struct Derived : Base {
  float x;
};

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Copied' is not trivially copyable
struct Copied {
  float x;
  Copied() = default;
  __host__ __device__ Copied(const Copied &o) : x(o.x) {}
};

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Unassigned' has a copy constructor or assignment that is deleted or not public
struct Unassigned {
  float x;
  Unassigned &operator=(const Unassigned &) = delete;
};

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Forwarding' has a constructor or assignment template that copies would call
struct Forwarding {
  float x;
  Forwarding() = default;
  template <typename T> __host__ __device__ Forwarding(T &&t) : x(t) {}
};

struct Fixed {
  const float x;
};
// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Member' has a copy constructor or assignment that is deleted or not public
struct Member {
  Fixed f;
};

class Private {
  struct Hidden {
    float x;
  };
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: field 'h' has a type that is not public
  Hidden h;
};

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Packed' is packed
struct __attribute__((packed)) Packed {
  char c;
  float x;
};

#pragma pack(push, 1)
// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'PackedToo' is packed
struct PackedToo {
  char c;
  float x;
};
#pragma pack(pop)

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Template' is a template
template <typename T> struct Template {
  T x;
};

struct Outer {
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Inner' is declared inside a class or function
  struct Inner {
    float x;
  };
};

// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'Empty' has no fields
struct Empty {};

struct Const {
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: field 'x' is const or volatile
  const float x;
};

struct Function {
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: field 'f' is a pointer to a function or member
  void (*f)(int);
};

struct Unnamed {
  float x;
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: it has a union without a name, whose members share memory
  union {
    float y;
    int z;
  };
};

#define FLOAT(name) float name
struct FromMacro {
  // CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: field 'x' comes from a macro
  FLOAT(x);
};

#define RECORD(name) struct name { float x; }
// CHECK: record.cu:[[@LINE+1]]:{{.*}} refused: 'ByMacro' is defined by a macro
RECORD(ByMacro);

__global__ void k(Union *a, BitField *b, Virtual *c, Derived *d, Copied *e, Unassigned *f, Forwarding *g, Member *g2,
                  Private *h, Packed *j, PackedToo *l, Template<int> *m, Outer::Inner *o, Empty *q, Const *r, Function *s,
                  Unnamed *t, FromMacro *v, ByMacro *w) {
  m[0].x = 1;
}
