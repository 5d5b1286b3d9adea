// Population pharmacokinetics: a two-compartment model with oral or infused doses is
// integrated for every subject (RK4 between the events), predictions are compared
// with the measured concentrations and the random effects are nudged towards them.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <cuda_runtime.h>

#define CUDA_CHECK(expr)                                                                \
    do {                                                                                \
        cudaError_t code = (expr);                                                      \
        if (code != cudaSuccess) {                                                      \
            fprintf(stderr, "%s failed with %s\n", #expr, cudaGetErrorString(code));    \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

enum Route { ORAL = 0, INFUSION = 1 };

struct Subject {
    int firstDose, doseCount;
    int firstObs, obsCount;
    double weight;
    double creatinine;
    double eta[4];
    double cl, vc, q, vp, ka;  // individual parameters
    double state[3];           // depot, central, peripheral at the end of the record
    double cmax, tmax, auc;
    double objective;
    int steps;
    int sex;
};

struct Dose {
    double time;      // [h]
    double amount;    // [mg]
    double duration;  // [h], infusions only
    int route;
    int formulation;
};

struct Observation {
    double time;
    double measured;
    double predicted;
    int censored;
    int assay;
};

struct Population {
    double theta[5];
    double omega[4];
    double sigma;
};

struct Rates {
    double ka, k10, k12, k21, input;

    __device__ void operator()(const double *a, double *da) const
    {
        da[0] = -ka * a[0];
        da[1] = ka * a[0] + input - (k10 + k12) * a[1] + k21 * a[2];
        da[2] = k12 * a[1] - k21 * a[2];
    }
};

__global__ void individualise(Subject *subjects, int n, Population pop)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Subject &s = subjects[i];
    double size = s.weight / 70.0;
    double renal = pow(1.0 / s.creatinine, 0.3);
    s.cl = pop.theta[0] * pow(size, 0.75) * renal * exp(s.eta[0]);
    s.vc = pop.theta[1] * size * exp(s.eta[1]);
    s.q = pop.theta[2] * pow(size, 0.75);
    s.vp = pop.theta[3] * size * exp(s.eta[2]);
    s.ka = pop.theta[4] * exp(s.eta[3]) * (s.sex ? 0.9 : 1.0);
}

__device__ int integrate(double *a, const Rates &f, double span, double hmax, double vc, Subject &s, double t0)
{
    if (span <= 0.0) return 0;
    int steps = (int)ceil(span / hmax);
    double h = span / steps;
    for (int k = 0; k < steps; ++k) {
        double k1[3], k2[3], k3[3], k4[3], b[3];
        double before = a[1];
        f(a, k1);
        for (int c = 0; c < 3; ++c) b[c] = a[c] + 0.5 * h * k1[c];
        f(b, k2);
        for (int c = 0; c < 3; ++c) b[c] = a[c] + 0.5 * h * k2[c];
        f(b, k3);
        for (int c = 0; c < 3; ++c) b[c] = a[c] + h * k3[c];
        f(b, k4);
        for (int c = 0; c < 3; ++c) a[c] += h / 6.0 * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]);
        s.auc += 0.5 * h * (before + a[1]) / vc;
        if (a[1] / vc > s.cmax) {
            s.cmax = a[1] / vc;
            s.tmax = t0 + (k + 1) * h;
        }
    }
    return steps;
}

__global__ void simulate(Subject *subjects, int n, const Dose *doses, Observation *obs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Subject &s = subjects[i];
    const Dose *dose = doses + s.firstDose, *lastDose = dose + s.doseCount;
    Observation *ob = obs + s.firstObs, *lastOb = ob + s.obsCount;
    double a[3] = {0.0, 0.0, 0.0};
    double t = 0.0, infusionEnd = 1e30;
    int steps = 0;
    const double vc = s.vc;
    Rates f{s.ka, s.cl / vc, s.q / vc, s.q / s.vp, 0.0};
    const double hmax = 0.4 / fmax(f.ka, f.k10 + f.k12);
    s.cmax = s.tmax = s.auc = 0.0;
    while (dose < lastDose || ob < lastOb) {
        double td = dose < lastDose ? dose->time : 1e30;
        double to = ob < lastOb ? ob->time : 1e30;
        double next = fmin(fmin(td, to), infusionEnd);
        steps += integrate(a, f, next - t, hmax, vc, s, t);
        t = next;
        if (infusionEnd <= next) {
            f.input = 0.0;
            infusionEnd = 1e30;
        } else if (td <= next) {
            if (dose->route == ORAL) {
                a[0] += dose->amount;
            } else {
                f.input = dose->amount / dose->duration;
                infusionEnd = t + dose->duration;
            }
            ++dose;
        } else {
            ob->predicted = a[1] / vc;
            ++ob;
        }
    }
    s.steps = steps;
    for (int c = 0; c < 3; ++c) s.state[c] = a[c];
}

__global__ void scoreSubjects(Subject *subjects, int n, const Observation *obs, Population pop)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0;
    const int first = subjects[i].firstObs, count = subjects[i].obsCount;
    for (int k = 0; k < count; ++k) {
        const Observation &o = obs[first + k];
        double r = log(fmax(o.measured, 1e-3)) - log(fmax(o.predicted, 1e-3));
        sum += o.censored ? fmin(r, 0.0) * fmin(r, 0.0) : r * r;
    }
    double penalty = 0.0;
    for (int k = 0; k < 4; ++k) penalty += subjects[i].eta[k] * subjects[i].eta[k] / pop.omega[k];
    subjects[i].objective = sum / (pop.sigma * pop.sigma) + penalty;
}

__global__ void nudgeEffects(Subject *subjects, int n, const Observation *obs, double rate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Subject &s = subjects[i];
    double early = 0.0, late = 0.0;
    int half = s.obsCount / 2;
    for (int k = 0; k < s.obsCount; ++k) {
        const Observation &o = obs[s.firstObs + k];
        double r = log(fmax(o.measured, 1e-3)) - log(fmax(o.predicted, 1e-3));
        r = fmax(-1.0, fmin(1.0, r));
        (k < half ? early : late) += r;
    }
    s.eta[0] = 0.98 * s.eta[0] - rate * late / s.obsCount;
    s.eta[1] = 0.98 * s.eta[1] - rate * early / s.obsCount;
    s.eta[2] = 0.98 * s.eta[2] + 0.5 * rate * (late - early) / s.obsCount;
    s.eta[3] = 0.98 * s.eta[3] + 0.5 * rate * early / s.obsCount;
}

int main()
{
    const int n = 120000;
    std::mt19937 rng(4711);
    std::normal_distribution<double> normal(0.0, 1.0);
    auto uniform = [&rng](double lo, double hi) { return lo + (hi - lo) * (double)rng() / 4294967296.0; };

    std::vector<Subject> subjects(n);
    std::vector<Dose> doses;
    std::vector<Observation> obs;
    for (Subject &s : subjects) {
        s = Subject{};
        s.weight = 70.0 * exp(0.18 * normal(rng));
        s.creatinine = uniform(0.7, 1.9);
        s.sex = (int)(rng() & 1u);
        for (double &e : s.eta) e = 0.15 * normal(rng);
        s.firstDose = (int)doses.size();
        s.doseCount = 2 + (int)(rng() % 4u);
        int route = (rng() % 3u) == 0 ? INFUSION : ORAL;
        double amount = 50.0 * (1.0 + (double)(rng() % 6u));
        for (int k = 0; k < s.doseCount; ++k)
            doses.push_back(Dose{12.0 * k, amount, 0.5 + 0.5 * (double)(rng() % 4u), route, k & 1});
        s.firstObs = (int)obs.size();
        s.obsCount = 6 + (int)(rng() % 7u);
        double t = 0.0;
        for (int k = 0; k < s.obsCount; ++k) {
            t += uniform(0.3, 9.0);
            double level = amount / 35.0 * (0.4 + 0.6 * exp(-0.11 * fmod(t, 12.0))) * exp(0.2 * normal(rng));
            obs.push_back(Observation{t, level, 0.0, level < 0.6, (int)(rng() & 3u)});
        }
    }

    Population pop = {{4.2, 32.0, 6.0, 45.0, 1.1}, {0.09, 0.06, 0.08, 0.16}, 0.25};
    Subject *dSubjects = nullptr;
    Dose *dDoses = nullptr;
    Observation *dObs = nullptr;
    CUDA_CHECK(cudaMalloc((void **)&dSubjects, n * sizeof(Subject)));
    CUDA_CHECK(cudaMalloc((void **)&dDoses, doses.size() * sizeof(Dose)));
    CUDA_CHECK(cudaMalloc((void **)&dObs, obs.size() * sizeof(Observation)));
    CUDA_CHECK(cudaMemcpy(dSubjects, subjects.data(), n * sizeof(Subject), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dDoses, doses.data(), doses.size() * sizeof(Dose), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dObs, obs.data(), obs.size() * sizeof(Observation), cudaMemcpyHostToDevice));

    const int block = 128, grid = (n + block - 1) / block, reps = 12;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));
    for (int r = 0; r <= reps; ++r) {
        if (r == 1) CUDA_CHECK(cudaEventRecord(t0));
        individualise<<<grid, block>>>(dSubjects, n, pop);
        simulate<<<grid, block>>>(dSubjects, n, dDoses, dObs);
        scoreSubjects<<<grid, block>>>(dSubjects, n, dObs, pop);
        nudgeEffects<<<grid, block>>>(dSubjects, n, dObs, 0.1);
    }
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaGetLastError());
    float ms = 0.0f;
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
    CUDA_CHECK(cudaMemcpy(subjects.data(), dSubjects, n * sizeof(Subject), cudaMemcpyDeviceToHost));
    double ofv = 0, auc = 0, cmax = 0, cl = 0;
    for (const Subject &s : subjects) { ofv += s.objective; auc += s.auc; cmax += s.cmax; cl += s.cl; }
    printf("check %.4f/%.4f/%.5f/%.5f\n", ofv / n, auc / n, cmax / n, cl / n);
    printf("time_ms %.4f\n", ms / reps);
    CUDA_CHECK(cudaFree(dSubjects));
    CUDA_CHECK(cudaFree(dDoses));
    CUDA_CHECK(cudaFree(dObs));
    return 0;
}
