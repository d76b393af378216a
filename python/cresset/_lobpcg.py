"""Extreme eigenpairs of large symmetric matrices: the locally optimal block preconditioned conjugate gradient method.

A. V. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM J. Sci. Comput. 23 (2001) 517-541, gives the iteration; the stopping
rule and the order of what is orthogonalised follow J. A. Duersch, M. Shao, C. Yang and M. Gu, "A robust and efficient implementation of
LOBPCG", SIAM J. Sci. Comput. 40 (2018) C655-C676, and the orthogonalisation itself A. Stathopoulos and K. Wu, "A block orthogonalization
procedure with constant synchronization requirements", SIAM J. Sci. Comput. 23 (2002) 2165-2182.
"""

import cresset as torch

__all__ = ["lobpcg", "LOBPCG"]

_EPS = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def _order(values, largest):
    """From the ascending order of eigh to the order in which pairs are wanted."""
    return torch.arange(len(values)).flip(0) if largest else torch.arange(len(values))


class LOBPCG:
    """One run of the method on one matrix; what a `tracker` is called with after each step.

    `A`, `B`, `iK` are what was given; `X` holds the vectors, `E` the values, `R` the residuals, `S` the basis they were sought in.
    `iparams` (m, n, k, niter, ortho_i_max, ortho_j_max), `fparams` (tol, ortho_tol, ortho_tol_drop, ortho_tol_replace) and `bparams`
    (largest, ortho_use_drop) are parameters; `ivars` (istep, iterations_left, converged_count, converged_end), `fvars` (X_norm, A_norm,
    B_norm), `tvars` (rerr, the relative residuals) and `bvars` the state. `bvars["force_stop"] = True` ends the run.

    >>> steps = []
    >>> values, _ = torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), 1, tracker=lambda run: steps.append(run.ivars["istep"]))
    >>> steps[:3]
    [1, 2, 3]
    """

    def __init__(self, A, B, X, iK, iparams, fparams, bparams, method, tracker):
        self.A, self.B, self.X, self.iK = A, B, X, iK
        self.iparams, self.fparams, self.bparams, self.method, self.tracker = iparams, fparams, bparams, method, tracker
        self.E = torch.zeros(X.shape[1], dtype=X.dtype, device=X.device)
        self.R = self.S = torch.zeros((X.shape[0], 0), dtype=X.dtype, device=X.device)
        self.ivars = {"istep": 0, "iterations_left": iparams["niter"], "converged_count": 0, "converged_end": 0}
        self.fvars, self.bvars, self.tvars = {}, {}, {}

    def run(self):
        rows, columns = self.X.shape
        self.fvars["X_norm"] = self.X.norm().item()
        self.fvars["A_norm"] = (self.A @ self.X).norm().item() / self.fvars["X_norm"]
        self.fvars["B_norm"] = (self._B(self.X).norm().item() / self.fvars["X_norm"]) if self.B is not None else 1.0
        self.S = self._orthonormal(self.X, self.X.new_zeros((rows, 0)))
        if self.S.shape[1] < columns:
            raise ValueError(f"lobpcg: the columns of X are linearly dependent: {columns} columns span {self.S.shape[1]} dimensions")
        directions = self._best(columns)
        while True:
            AX = self.A @ self.X
            self.R = AX - self._B(self.X) * self.E
            self._measure()
            self.ivars["istep"] += 1
            self.ivars["iterations_left"] -= 1
            self.ivars["converged_end"] = self.S.shape[1]
            if self.tracker is not None:
                self.tracker(self)
            if self.ivars["converged_count"] >= columns or self.ivars["iterations_left"] == 0 or self.bvars.get("force_stop", False):
                return
            residual = self.R[:, self.ivars["converged_count"] :]
            W = residual if self.iK is None else self.iK @ residual
            basis = self._orthonormal(torch.cat([W, directions], 1), self.X)
            if not basis.shape[1]:  # nothing new to look at: this is as far as the precision goes
                return
            self.S = torch.cat([self.X, basis], 1)
            directions = self._best(columns)

    def _B(self, x):
        return x if self.B is None else self.B @ x

    def _best(self, columns):
        """The best pairs in the basis become X and E. Returns the part of their change that lies outside of the old X."""
        S = self.S
        projected = S.mT @ (self.A @ S)
        values, vectors = torch.linalg.eigh((projected + projected.mT) / 2)
        chosen = _order(values, self.bparams["largest"])[:columns]
        Z = vectors[:, chosen]
        self.E, self.X = values[chosen], S @ Z
        return S[:, columns:] @ Z[columns:]

    def _measure(self):
        scale = self.X.norm(dim=0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        rerr = self.R.norm(dim=0) / scale.clamp_min(torch.finfo(scale.dtype).tiny)
        self.tvars["rerr"] = rerr
        # Below this a residual is rounding alone.
        least = 4 * _EPS[rerr.dtype] * self.iparams["m"] ** 0.5
        done = (rerr <= max(self.fparams["tol"], least)).tolist()
        self.ivars["converged_count"] = done.index(False) if False in done else len(done)

    def _orthonormal(self, U, V):
        """A basis, orthonormal by B, of the columns of U without those of V, which are orthonormal by B."""
        p = self.iparams
        for _ in range(p["ortho_i_max"]):
            before = U.norm().item()
            for _ in range(p["ortho_j_max"]):
                if V.shape[1]:
                    U = U - V @ (V.mT @ self._B(U))
                U = self._scaled(U)
                if not U.shape[1]:
                    return U
                left = V.mT @ self._B(U) if V.shape[1] else None
                if left is None or left.norm().item() <= self.fparams["ortho_tol"] * max(U.norm().item(), before):
                    break
            gram = U.mT @ self._B(U)
            if (gram - torch.eye(U.shape[1], dtype=U.dtype, device=U.device)).norm().item() <= self.fparams["ortho_tol"] * U.shape[1]:
                break
        return U

    def _scaled(self, U):
        """U orthonormal by B: by a Cholesky factor, or by eigenvectors where columns are nearly dependent; those are dropped."""
        gram = U.mT @ self._B(U)
        lengths = gram.diagonal()
        keep = lengths > 0
        if not bool(keep.all()):
            U, gram, lengths = U[:, keep], gram[keep][:, keep], lengths[keep]
            if not U.shape[1]:
                return U
        d = lengths.rsqrt()
        gram = gram * d * d.unsqueeze(1)
        if self.method == "basic" and not self.bparams["ortho_use_drop"]:
            factor, failed = torch.linalg.cholesky_ex((gram + gram.mT) / 2)
            if int(failed) == 0 and factor.diagonal().min().item() ** 2 > self.fparams["ortho_tol"]:
                return torch.linalg.solve_triangular(factor, (U * d).mT, upper=False).mT
        values, vectors = torch.linalg.eigh((gram + gram.mT) / 2)
        keep = values > _EPS[U.dtype] * len(values) * values.max()
        return (U * d) @ (vectors[:, keep] * values[keep].rsqrt())


class _Pairs(torch.autograd.Function):
    """The pairs of one symmetric matrix, or of two, differentiable by them where they are dense."""

    @staticmethod
    def forward(ctx, A, B, solve):
        E, V = solve(A, B)
        ctx.save_for_backward(A, B, E, V)
        return E, V

    @staticmethod
    def backward(ctx, grad_E, grad_V):
        A, B, E, V = ctx.saved_tensors
        if any(t is not None and t.layout is not torch.strided for t in (A, B)):
            raise ValueError("lobpcg: gradients exist for dense matrices only, got a sparse one")
        # With A v = e B v and v' B v = 1: (e B - A) dv + de B v = (dA - e dB) v and v' B dv = -v' dB v / 2, a regular system in (dv, de).
        m, unit = A.shape[0], torch.eye(A.shape[0], dtype=A.dtype, device=A.device) if B is None else B
        grad_A, grad_B = torch.zeros_like(A), None if B is None else torch.zeros_like(B)
        for e, v, grad_e, grad_v in zip(E, V.mT.unsqueeze(-1), grad_E, grad_V.mT):
            border = torch.cat([torch.cat([e * unit - A, unit @ v], 1), torch.nn.functional.pad((unit @ v).mT, (0, 1))], 0)
            x = torch.linalg.solve(border, torch.nn.functional.pad(grad_v, (0, 1)))
            outer = (x[:m].unsqueeze(1) + grad_e * v) @ v.mT
            grad_A = grad_A + outer
            if B is not None:
                grad_B = grad_B - e * outer - x[m] / 2 * (v @ v.mT)
        return grad_A, grad_B, None


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):  # fmt: skip
    """The `k` largest eigenvalues of a symmetric matrix, or the smallest with `largest=False`, and their vectors: (..., k) and (..., m, k).

    With `B`, symmetric and positive definite, those of A x = e B x. `A`, `B` and the preconditioner `iK` may be dense, batched or sparse.
    `X` (..., m, n) is where the search starts, random by default; `n` vectors are sought together, `k` by default. A pair is found when
    its residual, relative to the norms of `A` and `B`, is below `tol`, by default the root of the precision; -1 for `niter` means no limit
    (1000 steps by default). `method` is "ortho", with parameters i_max, j_max; tol, tol_drop, tol_replace; use_drop, or "basic". `tracker` is
    called with the `LOBPCG` run after each step. Gradients exist for dense `A` and `B`, which are made symmetric first where they are wanted.

    ValueError where 3 n is more than m; AssertionError for shapes that do not fit.

    >>> values, vectors = torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), 2)
    >>> values.round(decimals=3), vectors.shape
    (tensor([9., 8.]), torch.Size([9, 2]))
    """
    m = A.shape[-1]
    assert A.shape[-2] == m, f"A must be square, got shape {A.shape}"
    if B is not None:
        assert A.shape == B.shape, f"A and B must have same shape, got {A.shape} vs {B.shape}"
    if A.dtype not in _EPS:
        raise RuntimeError(f"lobpcg: expected a matrix of dtype float32 or float64, got {A.dtype}")
    for name, t in (("B", B), ("X", X), ("iK", iK)):
        if t is not None and t.dtype is not A.dtype:
            raise RuntimeError(f"lobpcg: expected {name} of the dtype of A, {A.dtype}, got {t.dtype}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if k < 1 or n < 1:
        raise ValueError(f"lobpcg: expected at least one eigenpair to look for, got k={k} and n={n}")
    if m < 3 * n:
        raise ValueError(f"lobpcg: A has too few rows (={m}), expected three for each eigenpair (={n})")
    if X is not None:
        assert X.shape == (*A.shape[:-2], m, n), f"X shape mismatch: got {X.shape}, expected {(*A.shape[:-2], m, n)}"
    method = "ortho" if method is None else method
    if method not in ("basic", "ortho"):
        raise ValueError(f'lobpcg: expected method to be "basic" or "ortho", got {method!r}')
    tol = _EPS[A.dtype] ** 0.5 if tol is None else tol
    iparams = {"m": m, "n": n, "k": k, "niter": niter or 1000, **_named(ortho_iparams, i_max=3, j_max=3)}
    fparams = {"tol": tol, **_named(ortho_fparams, tol=tol, tol_drop=tol, tol_replace=tol)}
    bparams = {"largest": True if largest is None else bool(largest), **_named(ortho_bparams, use_drop=False)}
    start = torch.randn((*A.shape[:-2], m, n), dtype=A.dtype, device=A.device) if X is None else X.detach()

    def solve(A, B, at=()):
        with torch.no_grad():
            run = LOBPCG(*(None if t is None else t[at].detach() if other and at else t.detach() for other, t in ((0, A), (0, B), (1, start), (1, iK))),
                         dict(iparams), dict(fparams), dict(bparams), method, tracker)  # fmt: skip
            run.run()
        return run.E[:k], run.X[:, :k]

    # Gradients are symmetric, whichever values the functions have beside the symmetric matrices.
    A, B = ((t + t.mT) / 2 if t is not None and t.requires_grad and torch.is_grad_enabled() else t for t in (A, B))

    def pairs(at=()):
        return _Pairs.apply(A[at] if at else A, B[at] if at and B is not None else B, lambda a, b: solve(a, b, at))

    if A.dim() == 2:
        return pairs()
    places = [tuple(p) for p in torch.cartesian_prod(*(torch.arange(s) for s in A.shape[:-2])).reshape(-1, A.dim() - 2).tolist()]
    found = [pairs(at) for at in places]
    E, V = torch.stack([e for e, _ in found]), torch.stack([v for _, v in found])
    return E.reshape(*A.shape[:-2], *E.shape[1:]), V.reshape(*A.shape[:-2], *V.shape[1:])


def _named(given, **defaults):
    """Parameters of the orthogonalisation under the names of the run. ValueError for others."""
    unknown = set(given or ()) - set(defaults)
    if unknown:
        raise ValueError(f"lobpcg: unknown parameters {sorted(unknown)}, expected some of {sorted(defaults)}")
    return {f"ortho_{name}": value for name, value in {**defaults, **(given or {})}.items()}
