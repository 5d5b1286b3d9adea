/*
 * Particles in a grid of boxes; each box interacts with itself and with
 * its neighbour boxes.  One thread block handles one home box.
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define PER_BOX 48
#define THREADS 64
#define MAX_NEI 26

typedef struct {
    int x, y, z;
    int number;
    int offset;
    int nn;
    int nei[MAX_NEI];
} box_t;

typedef struct {
    double x, y, z;
    double q;
    double mass;
    int species;
    int id;
} particle_t;

typedef struct {
    double fx, fy, fz;
    double pot;
    double vx, vy, vz;
} motion_t;

#define CK(c)                                                            \
    do {                                                                 \
        cudaError_t e = (c);                                             \
        if (e != cudaSuccess) {                                          \
            fprintf(stderr, "%s failed: %s\n", #c, cudaGetErrorString(e)); \
            exit(EXIT_FAILURE);                                          \
        }                                                                \
    } while (0)

__constant__ double c_strength[4];

__global__ void force_kernel(const box_t *boxes, const particle_t *part,
                             motion_t *mot, double a2)
{
    __shared__ double s_x[PER_BOX], s_y[PER_BOX], s_z[PER_BOX], s_q[PER_BOX];

    int bx = blockIdx.x;
    int tx = threadIdx.x;
    int home = boxes[bx].offset;
    int nn = boxes[bx].nn;

    double px = 0, py = 0, pz = 0, pq = 0;
    double fx = 0, fy = 0, fz = 0, pot = 0;
    if (tx < PER_BOX) {
        px = part[home + tx].x;
        py = part[home + tx].y;
        pz = part[home + tx].z;
        pq = part[home + tx].q * c_strength[part[home + tx].species];
    }

    for (int k = 0; k <= nn; k++) {
        int other = k == 0 ? home : boxes[boxes[bx].nei[k - 1]].offset;
        __syncthreads();
        for (int j = tx; j < PER_BOX; j += THREADS) {
            s_x[j] = part[other + j].x;
            s_y[j] = part[other + j].y;
            s_z[j] = part[other + j].z;
            s_q[j] = part[other + j].q;
        }
        __syncthreads();
        if (tx < PER_BOX) {
            for (int j = 0; j < PER_BOX; j++) {
                double dx = px - s_x[j];
                double dy = py - s_y[j];
                double dz = pz - s_z[j];
                double r2 = dx * dx + dy * dy + dz * dz;
                double u = exp(-a2 * r2) * s_q[j];
                double fs = 2.0 * a2 * u;
                pot += u;
                fx += fs * dx;
                fy += fs * dy;
                fz += fs * dz;
            }
        }
    }

    if (tx < PER_BOX) {
        mot[home + tx].fx = pq * fx;
        mot[home + tx].fy = pq * fy;
        mot[home + tx].fz = pq * fz;
        mot[home + tx].pot = pq * pot;
    }
}

__device__ void bounce(double *x, double *v, double lo, double hi)
{
    if (*x < lo) {
        *x = lo + (lo - *x);
        *v = -*v;
    } else if (*x > hi) {
        *x = hi - (*x - hi);
        *v = -*v;
    }
    *x = fmin(fmax(*x, lo), hi);
}

/* particles are kept within their boxes */
__global__ void move_kernel(const box_t *boxes, particle_t *part, motion_t *mot,
                            int n, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int b = i / PER_BOX;
    double s = dt / part[i].mass;
    double vx = mot[i].vx + s * mot[i].fx;
    double vy = mot[i].vy + s * mot[i].fy;
    double vz = mot[i].vz + s * mot[i].fz;
    double x = part[i].x + dt * vx;
    double y = part[i].y + dt * vy;
    double z = part[i].z + dt * vz;
    bounce(&x, &vx, boxes[b].x, boxes[b].x + 1.0);
    bounce(&y, &vy, boxes[b].y, boxes[b].y + 1.0);
    bounce(&z, &vz, boxes[b].z, boxes[b].z + 1.0);
    mot[i].vx = vx;
    mot[i].vy = vy;
    mot[i].vz = vz;
    part[i].x = x;
    part[i].y = y;
    part[i].z = z;
}

static double frand(void)
{
    return (rand() % 1000000) / 1000000.0;
}

int main(int argc, char *argv[])
{
    int dim = argc > 1 ? atoi(argv[1]) : 28;
    int steps = argc > 2 ? atoi(argv[2]) : 3;
    int reps = argc > 3 ? atoi(argv[3]) : 6;
    int nboxes = dim * dim * dim;
    int n = nboxes * PER_BOX;

    box_t *boxes = (box_t *)malloc(nboxes * sizeof(box_t));
    particle_t *part = (particle_t *)malloc(n * sizeof(particle_t));
    motion_t *mot = (motion_t *)calloc(n, sizeof(motion_t));
    if (!boxes || !part || !mot) {
        fprintf(stderr, "no memory\n");
        return 1;
    }

    int nh = 0;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            for (int k = 0; k < dim; k++) {
                box_t *b = &boxes[nh];
                b->x = k;
                b->y = j;
                b->z = i;
                b->number = nh;
                b->offset = nh * PER_BOX;
                b->nn = 0;
                for (int l = -1; l <= 1; l++)
                    for (int m = -1; m <= 1; m++)
                        for (int o = -1; o <= 1; o++) {
                            int zi = i + l, yj = j + m, xk = k + o;
                            if (l == 0 && m == 0 && o == 0) continue;
                            if (zi < 0 || yj < 0 || xk < 0) continue;
                            if (zi >= dim || yj >= dim || xk >= dim) continue;
                            b->nei[b->nn++] = (zi * dim + yj) * dim + xk;
                        }
                for (int m = b->nn; m < MAX_NEI; m++)
                    b->nei[m] = -1;
                nh++;
            }

    srand(2);
    for (int i = 0; i < n; i++) {
        box_t *b = &boxes[i / PER_BOX];
        part[i].x = b->x + frand();
        part[i].y = b->y + frand();
        part[i].z = b->z + frand();
        part[i].q = 0.1 + 0.9 * frand();
        part[i].mass = 1.0 + frand();
        part[i].species = rand() & 3;
        part[i].id = i;
        mot[i].vx = frand() - 0.5;
        mot[i].vy = frand() - 0.5;
        mot[i].vz = frand() - 0.5;
    }
    double strength[4] = {1.0, 0.8, 0.5, 1.3};

    box_t *d_boxes;
    particle_t *d_part;
    motion_t *d_mot;
    CK(cudaMalloc((void **)&d_boxes, nboxes * sizeof(box_t)));
    CK(cudaMalloc((void **)&d_part, n * sizeof(particle_t)));
    CK(cudaMalloc((void **)&d_mot, n * sizeof(motion_t)));
    CK(cudaMemcpy(d_boxes, boxes, nboxes * sizeof(box_t), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_part, part, n * sizeof(particle_t), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(d_mot, mot, n * sizeof(motion_t), cudaMemcpyHostToDevice));
    CK(cudaMemcpyToSymbol(c_strength, strength, sizeof(strength)));

    const double a2 = 2.0 * 0.5 * 0.5;
    const double dt = 1e-4;
    const int mgrid = (n + 127) / 128;

    force_kernel<<<nboxes, THREADS>>>(d_boxes, d_part, d_mot, a2);
    move_kernel<<<mgrid, 128>>>(d_boxes, d_part, d_mot, n, dt);
    CK(cudaDeviceSynchronize());

    cudaEvent_t begin, end;
    CK(cudaEventCreate(&begin));
    CK(cudaEventCreate(&end));
    CK(cudaEventRecord(begin, 0));
    for (int r = 0; r < reps; r++)
        for (int s = 0; s < steps; s++) {
            force_kernel<<<nboxes, THREADS>>>(d_boxes, d_part, d_mot, a2);
            move_kernel<<<mgrid, 128>>>(d_boxes, d_part, d_mot, n, dt);
        }
    CK(cudaEventRecord(end, 0));
    CK(cudaEventSynchronize(end));
    float ms;
    CK(cudaEventElapsedTime(&ms, begin, end));

    CK(cudaMemcpy(part, d_part, n * sizeof(particle_t), cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(mot, d_mot, n * sizeof(motion_t), cudaMemcpyDeviceToHost));
    double pot = 0, kin = 0, pos = 0, force = 0;
    for (int i = 0; i < n; i++) {
        motion_t *m = &mot[i];
        pot += m->pot;
        kin += 0.5 * part[i].mass * (m->vx * m->vx + m->vy * m->vy + m->vz * m->vz);
        pos += part[i].x + 2 * part[i].y + 3 * part[i].z;
        force += fabs(m->fx) + fabs(m->fy) + fabs(m->fz);
    }
    printf("check potential %.6g\n", pot);
    printf("check kinetic %.6g\n", kin);
    printf("check positions %.6g\n", pos);
    printf("check abs_force %.6g\n", force);
    printf("time_ms %.6f\n", ms / reps);

    cudaFree(d_boxes);
    cudaFree(d_part);
    cudaFree(d_mot);
    free(boxes);
    free(part);
    free(mot);
    return 0;
}
