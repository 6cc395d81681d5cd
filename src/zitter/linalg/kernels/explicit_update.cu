// UPDATES explicit updates in one pass over memory; `explicit_update` has the equation.
//
// A block owns a tile of the (y, z) plane and goes along x. Of ψ and of every update but the last it
// keeps three planes in registers; with each new plane of ψ, update t can do the plane t behind it.
// One warp spans the tile along z and passes neighbours from lane to lane; along y a thread has
// ROWS rows, and the first and last of them are shown to other warps in shared memory. At the edge of
// a tile every update loses a point, so tiles overlap, and what they share is computed twice.
//
// Outside of the grid ψ and g are zero, and stay zero: no update has to ask where it is. What a margin
// reads beyond its tile, and the first planes of a later update, are arbitrary; no kept point sees them.
//
// Given at compilation: REAL, UPDATES, VECTOR (points along z of one thread, a divisor of nz), WARPS,
// and ROWS.

constexpr int LANES = 32;
constexpr int MARGIN_Y = UPDATES;
constexpr int MARGIN_Z = (UPDATES + VECTOR - 1) / VECTOR;  // in threads
constexpr int TILE_Y = WARPS * ROWS;

struct alignas(VECTOR * sizeof(REAL)) Cell {
  REAL at[VECTOR];
};

__device__ Cell load(const REAL* __restrict__ array, bool exists) {
  Cell cell = {};
  if (exists) cell = *reinterpret_cast<const Cell*>(array);
  return cell;
}

extern "C" __global__ void __launch_bounds__(LANES * WARPS)
advance(const REAL* __restrict__ psi, const REAL* __restrict__ g, REAL* __restrict__ out,
        const REAL kx, const REAL ky, const REAL kz,
        const int nx, const int ny, const int nz, const int slab) {
  // Of update t, twice (one is read while the other is written): first and last row of each warp.
  __shared__ Cell edges[UPDATES][2][WARPS + 2][2][LANES];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int z = ((int)blockIdx.x * (LANES - 2 * MARGIN_Z) - MARGIN_Z + lane) * VECTOR;
  const int y = (int)blockIdx.y * (TILE_Y - 2 * MARGIN_Y) - MARGIN_Y + warp * ROWS;
  const int first = (int)blockIdx.z * slab;
  const int last = min(first + slab, nx);
  const long plane = (long)ny * nz;
  const REAL middle = 4 - 2 * (kx + ky + kz);

  bool inside[ROWS], kept[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int row = warp * ROWS + r;
    inside[r] = y + r >= 0 && y + r < ny && z >= 0 && z < nz;
    kept[r] = inside[r] && row >= MARGIN_Y && row < TILE_Y - MARGIN_Y &&
              lane >= MARGIN_Z && lane < LANES - MARGIN_Z;
  }

  // Of update t (ψ for t = 0) around its middle plane, and g of the plane that update t + 1 does.
  Cell before[UPDATES][ROWS] = {}, here[UPDATES][ROWS] = {}, after[UPDATES + 1][ROWS];
  Cell factor[UPDATES][ROWS] = {};
  int x = first - UPDATES + 1;
  long i = x * plane + (long)y * nz + z;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const long at = i + r * nz;
    before[0][r] = load(psi + at - plane, inside[r] && x >= 1);
    here[0][r] = load(psi + at, inside[r] && x >= 0);
    factor[0][r] = load(g + at, inside[r] && x >= 0);
    after[0][r] = load(psi + at + plane, inside[r] && x + 1 >= 0 && x + 1 < nx);
  }
  edges[0][0][warp + 1][0][lane] = here[0][0];
  edges[0][0][warp + 1][1][lane] = here[0][ROWS - 1];
  __syncthreads();

  int turn = 0;
  for (; x <= last + UPDATES - 2; ++x, i += plane, turn ^= 1) {
    // Asked for now, needed in the next round.
    Cell next_psi[ROWS], next_g[ROWS];
    const bool more_psi = x + 2 >= 0 && x + 2 < nx, more_g = x + 1 >= 0 && x + 1 < nx;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      next_psi[r] = load(psi + i + r * nz + 2 * plane, inside[r] && more_psi);
      next_g[r] = load(g + i + r * nz + plane, inside[r] && more_g);
    }
#pragma unroll
    for (int t = 0; t < UPDATES; ++t) {
      const Cell front_edge = edges[t][turn][warp][1][lane];
      const Cell back_edge = edges[t][turn][warp + 2][0][lane];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const Cell center = here[t][r];
        const Cell front = r > 0 ? here[t][r > 0 ? r - 1 : 0] : front_edge;
        const Cell back = r < ROWS - 1 ? here[t][r < ROWS - 1 ? r + 1 : 0] : back_edge;
        const REAL below = __shfl_up_sync(~0u, center.at[VECTOR - 1], 1);
        const REAL above = __shfl_down_sync(~0u, center.at[0], 1);
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
          const REAL left = v > 0 ? center.at[v > 0 ? v - 1 : 0] : below;
          const REAL right = v < VECTOR - 1 ? center.at[v < VECTOR - 1 ? v + 1 : 0] : above;
          const REAL sum = kx * (before[t][r].at[v] + after[t][r].at[v]) +
                           ky * (front.at[v] + back.at[v]) + kz * (left + right) +
                           middle * center.at[v];
          after[t + 1][r].at[v] = factor[t][r].at[v] * sum - center.at[v];
        }
      }
    }
    if (x - UPDATES + 1 >= first) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r)
        if (kept[r])
          *reinterpret_cast<Cell*>(out + i + r * nz - (UPDATES - 1) * plane) = after[UPDATES][r];
    }
#pragma unroll
    for (int t = UPDATES - 1; t >= 0; --t) {
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        before[t][r] = here[t][r];
        here[t][r] = after[t][r];
        if (t > 0) factor[t][r] = factor[t - 1][r];
      }
      edges[t][turn ^ 1][warp + 1][0][lane] = here[t][0];
      edges[t][turn ^ 1][warp + 1][1][lane] = here[t][ROWS - 1];
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      after[0][r] = next_psi[r];
      factor[0][r] = next_g[r];
    }
    __syncthreads();
  }
}
