// lulesh_like: explicit Lagrangian shock hydrodynamics proxy on hexahedra.
// Element kernels gather 8 nodes; node kernel gathers corner forces.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <vector>
#include <cuda_runtime.h>

typedef double Real_t;
typedef int Index_t;

struct Node {
   Real_t x, y, z;
   Real_t xd, yd, zd;
   Real_t fx, fy, fz;
   Real_t mass;
};

struct Element {
   Index_t nodelist[8];
   Real_t e;
   Real_t p;
   Real_t q;
   Real_t v;        // relative volume
   Real_t vdov;
   Real_t volo;     // reference volume
   Real_t ss;
   Real_t arealg;
};

struct CornerForce {
   Real_t x, y, z;
};

#define CK(call) { cudaError_t st_ = call; if (st_ != cudaSuccess) { \
   fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(st_)); exit(1); } }

#define GAMMA 1.4
#define RHO0  1.0

// faces with outward orientation, corners numbered as in LULESH
__constant__ int c_face[6][4] = {
   {0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7} };

__device__ inline void FaceNormal(const Real_t *x, const Real_t *y, const Real_t *z,
                                  int a, int b, int c, int d,
                                  Real_t &nx, Real_t &ny, Real_t &nz)
{
   Real_t ax = x[c] - x[a], ay = y[c] - y[a], az = z[c] - z[a];
   Real_t bx = x[d] - x[b], by = y[d] - y[b], bz = z[d] - z[b];
   nx = 0.5 * (ay * bz - az * by);
   ny = 0.5 * (az * bx - ax * bz);
   nz = 0.5 * (ax * by - ay * bx);
}

__global__ void CalcForceForElems(const Element *elems, const Node *nodes, CornerForce *corners, Index_t numElem)
{
   Index_t k = blockIdx.x * blockDim.x + threadIdx.x;
   if (k >= numElem) return;

   Real_t x[8], y[8], z[8], fx[8], fy[8], fz[8];
#pragma unroll
   for (int i = 0; i < 8; ++i) {
      Index_t n = elems[k].nodelist[i];
      x[i] = nodes[n].x;
      y[i] = nodes[n].y;
      z[i] = nodes[n].z;
      fx[i] = fy[i] = fz[i] = 0.0;
   }
   Real_t sig = 0.25 * (elems[k].p + elems[k].q);
#pragma unroll
   for (int f = 0; f < 6; ++f) {
      int a = c_face[f][0], b = c_face[f][1], c = c_face[f][2], d = c_face[f][3];
      Real_t nx, ny, nz;
      FaceNormal(x, y, z, a, b, c, d, nx, ny, nz);
      nx *= sig; ny *= sig; nz *= sig;
      fx[a] += nx; fx[b] += nx; fx[c] += nx; fx[d] += nx;
      fy[a] += ny; fy[b] += ny; fy[c] += ny; fy[d] += ny;
      fz[a] += nz; fz[b] += nz; fz[c] += nz; fz[d] += nz;
   }
#pragma unroll
   for (int i = 0; i < 8; ++i) {
      corners[8 * k + i].x = fx[i];
      corners[8 * k + i].y = fy[i];
      corners[8 * k + i].z = fz[i];
   }
}

__global__ void IntegrateNodes(Node *nodes, const CornerForce *corners, const Index_t *cornerStart,
                               const Index_t *cornerList, Index_t numNode, const Real_t *dtp)
{
   Index_t i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i >= numNode) return;
   const Real_t dt = *dtp;
   Real_t fx = 0.0, fy = 0.0, fz = 0.0;
   for (Index_t c = cornerStart[i]; c < cornerStart[i + 1]; ++c) {
      const CornerForce f = corners[cornerList[c]];
      fx += f.x; fy += f.y; fz += f.z;
   }
   Node nd = nodes[i];
   nd.fx = fx; nd.fy = fy; nd.fz = fz;
   Real_t im = 1.0 / nd.mass;
   nd.xd += dt * fx * im;
   nd.yd += dt * fy * im;
   nd.zd += dt * fz * im;
   // symmetry planes
   if (nd.x <= 0.0) nd.xd = 0.0;
   if (nd.y <= 0.0) nd.yd = 0.0;
   if (nd.z <= 0.0) nd.zd = 0.0;
   nd.x += dt * nd.xd;
   nd.y += dt * nd.yd;
   nd.z += dt * nd.zd;
   nodes[i] = nd;
}

__global__ void CalcKinematicsAndEOS(Element *elems, const Node *nodes, Index_t numElem, const Real_t *dtp)
{
   Index_t k = blockIdx.x * blockDim.x + threadIdx.x;
   if (k >= numElem) return;
   Element &el = elems[k];
   const Real_t dt = *dtp;
   Real_t x[8], y[8], z[8], div = 0.0;
   for (int i = 0; i < 8; ++i) {
      const Node &nd = nodes[el.nodelist[i]];
      x[i] = nd.x; y[i] = nd.y; z[i] = nd.z;
      div += fabs(nd.xd) + fabs(nd.yd) + fabs(nd.zd);
   }
   Real_t vol = 0.0, amax = 0.0;
   for (int f = 0; f < 6; ++f) {
      int a = c_face[f][0], b = c_face[f][1], c = c_face[f][2], d = c_face[f][3];
      Real_t nx, ny, nz;
      FaceNormal(x, y, z, a, b, c, d, nx, ny, nz);
      vol += nx * (x[a] + x[b] + x[c] + x[d]) + ny * (y[a] + y[b] + y[c] + y[d]) + nz * (z[a] + z[b] + z[c] + z[d]);
      amax = fmax(amax, nx * nx + ny * ny + nz * nz);
   }
   vol *= 1.0 / 12.0;
   Real_t vnew = vol / el.volo;
   if (vnew < 0.1) vnew = 0.1;
   if (fabs(vnew - 1.0) < 1e-12) vnew = 1.0;
   Real_t delv = vnew - el.v;
   Real_t vdov = delv / (dt * vnew);
   Real_t len = vnew * el.volo / sqrt(amax);
   Real_t rho = RHO0 / vnew;
   Real_t qn = 0.0;
   if (vdov < 0.0) {
      Real_t du = len * vdov;
      qn = rho * (1.5 * du * du - 0.5 * el.ss * du);
   }
   Real_t e = el.e - 0.5 * delv * (el.p + el.q + qn);
   if (e < 1.0e-9) e = 1.0e-9;
   Real_t pn = (GAMMA - 1.0) * e / vnew;
   e = el.e - 0.5 * delv * (0.5 * (el.p + pn) + 0.5 * (el.q + qn)) - 0.5 * delv * qn;
   if (e < 1.0e-9) e = 1.0e-9;
   pn = (GAMMA - 1.0) * e / vnew;
   el.e = e;
   el.p = pn;
   el.q = qn;
   el.v = vnew;
   el.vdov = vdov;
   el.arealg = len + 1e-12 * div;
   el.ss = sqrt(GAMMA * pn / rho);
}

__global__ void CalcTimeConstraint(const Element *elems, Index_t numElem, unsigned long long *dtNext)
{
   __shared__ unsigned long long best;
   if (threadIdx.x == 0) best = 0x7fefffffffffffffULL;
   __syncthreads();
   Real_t lim = 1.0e20;
   for (Index_t k = blockIdx.x * blockDim.x + threadIdx.x; k < numElem; k += gridDim.x * blockDim.x) {
      Real_t d = elems[k].ss * elems[k].ss;
      Real_t vd = elems[k].vdov;
      if (vd < 0.0) d += 4.0 * elems[k].arealg * elems[k].arealg * vd * vd;
      lim = fmin(lim, 0.25 * elems[k].arealg / sqrt(d + 1e-30));
   }
   // positive doubles order like their bit patterns
   atomicMin(&best, (unsigned long long)__double_as_longlong(lim));
   __syncthreads();
   if (threadIdx.x == 0) atomicMin(dtNext, best);
}

int main(int argc, char **argv)
{
   const int nx = argc > 1 ? atoi(argv[1]) : 80;
   const int iters = argc > 2 ? atoi(argv[2]) : 15;
   const int np = nx + 1;
   const Index_t numElem = nx * nx * nx, numNode = np * np * np;
   const Real_t h = 1.125 / nx;

   std::vector<Node> nodes(numNode);
   std::vector<Element> elems(numElem);
   for (int k = 0; k < np; ++k)
      for (int j = 0; j < np; ++j)
         for (int i = 0; i < np; ++i) {
            Node &n = nodes[(k * np + j) * np + i];
            memset(&n, 0, sizeof(Node));
            n.x = i * h; n.y = j * h; n.z = k * h;
         }
   for (int k = 0; k < nx; ++k)
      for (int j = 0; j < nx; ++j)
         for (int i = 0; i < nx; ++i) {
            Element &e = elems[(k * nx + j) * nx + i];
            Index_t b = (k * np + j) * np + i;
            const Index_t nl[8] = { b, b + 1, b + np + 1, b + np,
               b + np * np, b + np * np + 1, b + np * np + np + 1, b + np * np + np };
            for (int c = 0; c < 8; ++c) {
               e.nodelist[c] = nl[c];
               nodes[nl[c]].mass += RHO0 * h * h * h / 8.0;
            }
            int src = i + j + k;
            e.e = (src == 0) ? 20.0 : ((i * 31 + j * 17 + k * 7) % 101 == 0 ? 1.5 : 0.01);
            e.v = 1.0;
            e.p = (GAMMA - 1.0) * e.e;
            e.q = 0.0;
            e.vdov = 0.0;
            e.volo = h * h * h;
            e.ss = sqrt(GAMMA * e.p / RHO0);
            e.arealg = h;
         }
   std::vector<Index_t> cstart(numNode + 1, 0), clist((size_t)numElem * 8);
   for (Index_t k = 0; k < numElem; ++k)
      for (int c = 0; c < 8; ++c) cstart[elems[k].nodelist[c] + 1]++;
   for (Index_t i = 0; i < numNode; ++i) cstart[i + 1] += cstart[i];
   {
      std::vector<Index_t> pos(cstart.begin(), cstart.end() - 1);
      for (Index_t k = 0; k < numElem; ++k)
         for (int c = 0; c < 8; ++c) clist[pos[elems[k].nodelist[c]]++] = 8 * k + c;
   }
   // one time step slot per iteration, all start at the maximum step
   std::vector<Real_t> dts(iters + 1, 1.0e-3);

   Node *d_nodes; Element *d_elems; CornerForce *d_corners;
   Index_t *d_cstart, *d_clist; Real_t *d_dt;
   CK(cudaMalloc(&d_nodes, sizeof(Node) * numNode));
   CK(cudaMalloc(&d_elems, sizeof(Element) * numElem));
   CK(cudaMalloc(&d_corners, sizeof(CornerForce) * 8 * (size_t)numElem));
   CK(cudaMalloc(&d_cstart, sizeof(Index_t) * (numNode + 1)));
   CK(cudaMalloc(&d_clist, sizeof(Index_t) * clist.size()));
   CK(cudaMalloc(&d_dt, sizeof(Real_t) * dts.size()));
   CK(cudaMemcpy(d_nodes, nodes.data(), sizeof(Node) * numNode, cudaMemcpyHostToDevice));
   CK(cudaMemcpy(d_elems, elems.data(), sizeof(Element) * numElem, cudaMemcpyHostToDevice));
   CK(cudaMemcpy(d_cstart, cstart.data(), sizeof(Index_t) * (numNode + 1), cudaMemcpyHostToDevice));
   CK(cudaMemcpy(d_clist, clist.data(), sizeof(Index_t) * clist.size(), cudaMemcpyHostToDevice));
   CK(cudaMemcpy(d_dt, dts.data(), sizeof(Real_t) * dts.size(), cudaMemcpyHostToDevice));

   cudaEvent_t start, stop;
   cudaEventCreate(&start);
   cudaEventCreate(&stop);
   cudaEventRecord(start);
   for (int it = 0; it < iters; ++it) {
      CalcForceForElems<<<(numElem + 127) / 128, 128>>>(d_elems, d_nodes, d_corners, numElem);
      IntegrateNodes<<<(numNode + 127) / 128, 128>>>(d_nodes, d_corners, d_cstart, d_clist, numNode, d_dt + it);
      CalcKinematicsAndEOS<<<(numElem + 127) / 128, 128>>>(d_elems, d_nodes, numElem, d_dt + it);
      CalcTimeConstraint<<<264, 256>>>(d_elems, numElem, (unsigned long long *)(d_dt + it + 1));
   }
   cudaEventRecord(stop);
   CK(cudaEventSynchronize(stop));
   CK(cudaGetLastError());
   float ms;
   cudaEventElapsedTime(&ms, start, stop);

   CK(cudaMemcpy(nodes.data(), d_nodes, sizeof(Node) * numNode, cudaMemcpyDeviceToHost));
   CK(cudaMemcpy(elems.data(), d_elems, sizeof(Element) * numElem, cudaMemcpyDeviceToHost));
   CK(cudaMemcpy(dts.data(), d_dt, sizeof(Real_t) * dts.size(), cudaMemcpyDeviceToHost));
   double esum = 0, psum = 0, vsum = 0, ke = 0, fa = 0, t = 0;
   for (Index_t k = 0; k < numElem; ++k) { esum += elems[k].e; psum += elems[k].p + elems[k].q; vsum += elems[k].v; }
   for (Index_t i = 0; i < numNode; ++i) {
      const Node &n = nodes[i];
      ke += 0.5 * n.mass * (n.xd * n.xd + n.yd * n.yd + n.zd * n.zd);
      fa += fabs(n.fx) + fabs(n.fy) + fabs(n.fz);
   }
   for (int it = 0; it < iters; ++it) t += dts[it];
   printf("check energy %.6g\n", esum);
   printf("check pressure %.6g\n", psum);
   printf("check volume %.6g\n", vsum);
   printf("check kinetic %.6g\n", ke);
   printf("check force %.6g\n", fa);
   printf("check origin_energy %.6g\n", elems[0].e);
   printf("check sim_time %.6g\n", t);
   printf("time_ms %.4f\n", ms);
   cudaFree(d_nodes); cudaFree(d_elems); cudaFree(d_corners);
   cudaFree(d_cstart); cudaFree(d_clist); cudaFree(d_dt);
   return 0;
}
