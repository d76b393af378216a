"""Special functions, statistics, differences, places and distinct values against NumPy and against PyTorch's numbers."""

import bisect
import unittest

import numpy as np

import cresset as torch

NAN, INF = float("nan"), float("inf")
TRAPEZOID = getattr(np, "trapezoid", None) or np.trapz  # its names after and before NumPy 2


def close(tensor, expected, tolerance=1e-12):
    np.testing.assert_allclose(np.array(tensor.detach().tolist()), np.array(expected), rtol=tolerance, atol=tolerance)


def random(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# At these places, in PyTorch 2.13.
PLACES = [-9.5, -3.0, -0.7, 0.0, 0.3, 1.0, 2.5, 8.0, 30.0]
SPECIAL = {  # fmt: skip
    "i0e": [
        0.13125126081426788,
        0.24300035416182536,
        0.5593055265070683,
        1.0,
        0.7575806251825477,
        0.46575960759364043,
        0.27004644161220276,
        0.1434317818568503,
        0.0731459464822373,
    ],
    "i1": [
        -1658.4530777821344,
        -3.9533702174026093,
        -0.37187967777700853,
        0.0,
        0.15169384000359282,
        0.5651591039924851,
        2.5167162452886984,
        399.8731367825599,
        768532038938.9569,
    ],
    "i1e": [
        -0.1241382476548818,
        -0.19682671329730084,
        -0.18466998276274726,
        0.0,
        0.11237756063983881,
        0.2079104153497085,
        0.20658464953126654,
        0.13414249329269812,
        0.07191633059864755,
    ],
    "entr": [-INF, -INF, -INF, 0.0, 0.3611918412977808, -0.0, -2.2907268296853878, -16.635532333438686, -102.03592144986466],
    "erfcx": [
        3.134057697027116e39,
        16205.988853999586,
        2.7387021025613167,
        1.0,
        0.7345993345676554,
        0.427583576155807,
        0.2108063640611436,
        0.06998516620088094,
        0.018795888861416754,
    ],
    "ndtr": [0.0, 0.0013498980316301035, 0.24196365222307298, 0.5, 0.6179114221889527, 0.841344746068543, 0.9937903346742238, 0.9999999999999993, 1.0],
    "log_ndtr": [
        -48.30601929896523,
        -6.60772622151035,
        -1.4189677615315315,
        -0.6931471805599453,
        -0.48141016158848127,
        -0.17275377902344985,
        -0.006229025485860001,
        -6.220960574271758e-16,
        -4.906713927148024e-198,
    ],
    "airy_ai": [
        0.3191032477191283,
        -0.3788142883304339,
        0.5110003975750101,
        0.3550280538878172,
        0.2788064819550049,
        0.13529241631288144,
        0.015725923380470484,
        4.692207616099224e-08,
        3.2082175915504806e-49,
    ],
    "bessel_j0": [
        -0.19392874749648786,
        -0.2600519549074645,
        0.8812008886074052,
        1.0,
        0.9776262465382961,
        0.7651976865579665,
        -0.048383776468256645,
        0.17165080909758512,
        -0.08636798358104034,
    ],
    "bessel_j1": [
        -0.1612644302659841,
        -0.3390589585282922,
        -0.3289957415400589,
        0.0,
        0.148318816273104,
        0.44005058574493355,
        0.4970941024644698,
        0.2346363501030504,
        -0.11875106261662309,
    ],
    "bessel_y0": [NAN, NAN, NAN, -INF, -0.8072735778045196, 0.08825696421567697, 0.49807035961592067, 0.22352148793012566, -0.11729573168666393],
    "bessel_y1": [NAN, NAN, NAN, -INF, -2.2931051383885293, -0.7812128213002888, 0.14591813796695813, -0.15806045736166432, 0.08442557066174709],
    "modified_bessel_i0": [
        1753.480990527323,
        4.880792585865024,
        1.1263030183068092,
        1.0,
        1.0226268793515967,
        1.2660658777520082,
        3.289839144050123,
        427.56411572180474,
        781672297823.9775,
    ],
    "modified_bessel_i1": [
        -1658.4530777821344,
        -3.9533702174026093,
        -0.37187967777700853,
        0.0,
        0.15169384000359282,
        0.5651591039924851,
        2.5167162452886984,
        399.8731367825599,
        768532038938.9569,
    ],
    "modified_bessel_k0": [NAN, NAN, NAN, INF, 1.3724600605442967, 0.4210244382407082, 0.062347553200366196, 0.00014647070522281542, 2.1324774964630563e-14],
    "modified_bessel_k1": [NAN, NAN, NAN, INF, 3.055992033457325, 0.6019072301972346, 0.07389081634774705, 0.00015536921180500112, 2.1677320018915495e-14],
    "scaled_modified_bessel_k0": [NAN, NAN, NAN, INF, 1.8526273007720135, 1.1444630798068944, 0.7595486903280996, 0.43662301860158614, 0.22788666561625373],
    "scaled_modified_bessel_k1": [NAN, NAN, NAN, INF, 4.12515776224447, 1.636153486263258, 0.9001744239078779, 0.46314909287049605, 0.2316541293777118],
    "spherical_bessel_j0": [
        -0.007910644259137822,
        0.0470400026866224,
        0.9203109817681301,
        1.0,
        0.9850673555377986,
        0.8414709848078965,
        0.23938885764158263,
        0.12366978082792272,
        -0.03293438746976206,
    ],
}
POLYNOMIALS = {  # degree 4 at -1, -0.5, 0.3, 1 and 2
    "chebyshev_polynomial_t": [1.0, -0.5, 0.34480000000000005, 1.0, 97.0],
    "chebyshev_polynomial_u": [5.0, -1.0, 0.04960000000000005, 5.0, 209.0],
    "chebyshev_polynomial_v": [9.0, -2.0, 1.0336, 1.0, 153.0],
    "chebyshev_polynomial_w": [1.0, 0.0, -0.9344, 9.0, 265.0],
    "shifted_chebyshev_polynomial_t": [577.0, 97.0, -0.07520000000000006, 1.0, 577.0],
    "shifted_chebyshev_polynomial_u": [1189.0, 209.0, -0.5104000000000002, 5.0, 1189.0],
    "shifted_chebyshev_polynomial_v": [1393.0, 265.0, -1.5984, 1.0, 985.0],
    "shifted_chebyshev_polynomial_w": [985.0, 153.0, 0.5775999999999999, 9.0, 1393.0],
    "hermite_polynomial_h": [-20.0, 1.0, 7.8096, -20.0, 76.0],
    "hermite_polynomial_he": [-2.0, 1.5625, 2.4681, -2.0, -5.0],
    "laguerre_polynomial_l": [8.708333333333334, 3.8359375000000004, 0.05233750000000013, -0.625, 0.33333333333333337],
    "legendre_polynomial_p": [1.0, -0.2890625, 0.07293749999999997, 1.0, 55.375],
}


class Special(unittest.TestCase):
    def test_functions_of_one_variable(self):
        x = torch.tensor(PLACES, dtype=torch.float64)
        for name, expected in SPECIAL.items():
            with self.subTest(name):
                # PyTorch's own Bessel functions of the first and second kind and Airy's are good to 3e-8.
                rough = name.startswith("bessel") or name == "airy_ai"
                np.testing.assert_allclose(getattr(torch.special, name)(x).numpy(), expected, rtol=5e-8 if rough else 2e-11, atol=1e-14)
                single = getattr(torch.special, name)(x.to(torch.float32))
                self.assertIs(single.dtype, torch.float32)
                np.testing.assert_allclose(single.numpy()[1:7], np.array(expected)[1:7], rtol=2e-6, atol=1e-6)
        p = torch.tensor([0.0, 1e-300, 1e-5, 0.02, 0.3, 0.5, 0.9, 0.99999, 1.0], dtype=torch.float64)
        np.testing.assert_allclose(
            torch.special.ndtri(p).numpy(),
            [-INF, -37.0470962993612, -4.264890793922825, -2.053748910631823, -0.5244005127080409, 0.0, 1.2815515655446004, 4.264890793923841, INF],
            rtol=1e-11,
        )
        self.assertTrue(torch.equal(torch.i0(x), torch.special.modified_bessel_i0(x)))
        close(torch.sinc(x), np.sinc(PLACES), 1e-12)

    def test_bessel_functions_against_their_integral(self):
        x, t = np.array([0.1, 1.0, 4.0, 9.5, 30.0]), np.arange(256) * (2 * np.pi / 256)
        y = torch.from_numpy(x)
        j0, j1 = (np.cos(n * t - x[:, None] * np.sin(t)).mean(1) for n in (0, 1))
        close(torch.special.bessel_j0(y), j0, 1e-14)
        close(torch.special.bessel_j1(y), j1, 1e-14)
        # Their Wronskian.
        y0, y1 = torch.special.bessel_y0(y).numpy(), torch.special.bessel_y1(y).numpy()
        close(torch.from_numpy((j1 * y0 - j0 * y1) * np.pi * x / 2), np.ones(5), 1e-13)
        # Ai'' = x Ai.
        at, h = torch.linspace(-12, 5, 60, dtype=torch.float64), 1e-3
        ai = torch.special.airy_ai
        np.testing.assert_allclose(((ai(at + h) + ai(at - h) - 2 * ai(at)) / h**2).numpy(), (at * ai(at)).numpy(), atol=2e-5)
        close(ai(torch.tensor([-3.0], dtype=torch.float64)), [-0.37881429367765823], 1e-15)

    def test_functions_of_two_variables(self):
        a, b = (torch.tensor(v, dtype=torch.float64) for v in ([0.5, 1.0, 3.0, 20.0, 100.0], [0.1, 2.0, 3.0, 15.0, 130.0]))
        close(torch.igamma(a, b), [0.345279153981423, 0.8646647167633873, 0.5768099188731566, 0.12478121503252496, 0.9972495916326934], 1e-11)
        close(torch.igammac(a, b), [0.6547208460185769, 0.1353352832366127, 0.4231900811268435, 0.8752187849674751, 0.0027504083673065166], 1e-11)
        np.testing.assert_allclose(
            torch.special.zeta(a + 1, b).numpy(),
            [34.052975515075595, 0.6449340668482266, 0.019823233711138193, 2.7317221118753353e-25, 5.7834455031243114e-214],
            rtol=1e-12,
        )
        close(torch.special.xlog1py(a, b), [0.04765508990216243, 1.0986122886681096, 4.1588830833596715, 55.451774444795625, 487.5197323201151])
        x, n = torch.tensor([-1.0, -0.5, 0.3, 1.0, 2.0], dtype=torch.float64), torch.tensor([0.0, 1.0, -1.0], dtype=torch.float64)
        for name, expected in POLYNOMIALS.items():
            with self.subTest(name):
                close(getattr(torch.special, name)(x, 4), expected)
                self.assertEqual(getattr(torch.special, name)(torch.tensor(0.25, dtype=torch.float64), n).tolist()[0::2], [1.0, 0.0])

    def test_derivatives_agree_with_differences(self):
        x = torch.tensor([-2.0, -0.4, 0.0, 0.6, 1.7], dtype=torch.float64)
        for name in "i0 i0e i1 i1e erfcx ndtr log_ndtr sinc".split():
            f = getattr(torch.special, name)
            if name in ("i0e", "i1e"):
                x = x[torch.tensor([0, 1, 3, 4])]
            y = x.clone().requires_grad_()
            f(y).sum().backward()
            np.testing.assert_allclose(y.grad.numpy(), ((f(x + 1e-6) - f(x - 1e-6)) / 2e-6).numpy(), rtol=1e-7, atol=1e-8, err_msg=name)
            x = torch.tensor([-2.0, -0.4, 0.0, 0.6, 1.7], dtype=torch.float64)

    def test_mantissas_and_exponents(self):
        x = random(3, 4) * 100
        mantissa, exponent = torch.frexp(torch.from_numpy(x))
        expected = np.frexp(x)
        self.assertEqual((mantissa.tolist(), exponent.tolist(), exponent.dtype), (expected[0].tolist(), expected[1].tolist(), torch.int32))
        close(torch.ldexp(mantissa, exponent), x)

    def test_mantissas_of_every_kind_of_number(self):
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        ends = np.array([0.0, -0.0, 1e-45, -1e-40, 1.1754944e-38, 3.4028235e38, -1.0, 0.5, INF, -INF, NAN], dtype=np.float32)
        for x in (every, ends, ends.astype(np.float64), np.array([5e-324, -2.2250738585072014e-308, 1.7976931348623157e308])):
            mantissa, exponent = torch.frexp(torch.from_numpy(x))
            with np.errstate(invalid="ignore"):
                expected = np.frexp(x)
            np.testing.assert_array_equal(mantissa.numpy(), expected[0])
            finite = np.isfinite(x)
            np.testing.assert_array_equal(exponent.numpy()[finite], expected[1][finite])

    def test_a_number_times_whole_powers_of_two_is_exact(self):
        power = torch.arange(-149, 128)
        np.testing.assert_array_equal(torch.ldexp(torch.ones(277), power).numpy(), np.ldexp(np.ones(277, dtype=np.float32), power.numpy()))
        power = torch.arange(-1074, 1024)
        np.testing.assert_array_equal(torch.ldexp(torch.ones(2098, dtype=torch.float64), power).numpy(), np.ldexp(np.ones(2098), power.numpy()))

    def test_trigamma_is_large_at_its_poles(self):
        for dtype, size in ((torch.float32, 1.29e15), (torch.float64, 6.58e32)):
            at = torch.polygamma(1, torch.tensor([-1.0, 0.0, -0.5], dtype=dtype))
            self.assertTrue(0.99 * size < at[0] < 1.01 * size, at)
            self.assertEqual(at[1], float("inf"))
            self.assertAlmostEqual(at[2].item(), 8.934802200544679, places=5)


class Numeric(unittest.TestCase):
    def test_places_in_falling_boundaries_do_not_depend_on_batches(self):
        boundaries, values = torch.tensor([[5.0, 4.0, 3.0, 2.0, 1.0]]), torch.tensor([[0.5, 1.5, 2.5, 3.5, 4.5, 5.5]])
        self.assertEqual(torch.searchsorted(boundaries, values).tolist(), [[0, 0, 0, 5, 5, 5]])
        self.assertEqual(torch.bucketize(values[0], boundaries[0]).tolist(), [0, 0, 0, 5, 5, 5])

    def test_against_numpy(self):
        a, b, v = random(3, 4), random(3, 4, seed=1), np.sort(random(4, seed=2))
        t = torch.from_numpy
        for got, expected in (
            (torch.diff(t(a)), np.diff(a)),
            (torch.diff(t(a), 2, 0, prepend=t(b[:1])), np.diff(a, 2, 0, prepend=b[:1])),
            (torch.trapezoid(t(a), t(v)), TRAPEZOID(a, v)),
            (torch.trapz(t(a), dx=0.5, dim=0), TRAPEZOID(a, dx=0.5, axis=0)),
            (torch.cov(t(a)), np.cov(a)),
            (torch.cov(t(a), correction=0, aweights=t(v - v[0] + 1)), np.cov(a, ddof=0, aweights=v - v[0] + 1)),
            (torch.corrcoef(t(a)), np.corrcoef(a)),
            (torch.kron(t(a), t(b[:2, 0])), np.kron(a, b[:2, 0])),
            (torch.inner(t(a), t(b)), np.inner(a, b)),
            (torch.tensordot(t(a), t(b), 2), np.tensordot(a, b)),
            (torch.tensordot(t(a), t(b), ([0], [0])), np.tensordot(a, b, ([0], [0]))),
            (torch.linalg.cross(t(a[:, :3]), t(b[:, :3])), np.cross(a[:, :3], b[:, :3])),
            (torch.cross(t(a), t(b)), np.cross(a, b, axis=0)),
            (torch.trace(t(a)), np.trace(a)),
            (torch.diag(t(v), 1), np.diag(v, 1)),
            (torch.diagflat(t(a[:2, :2])), np.diagflat(a[:2, :2])),
            (torch.rot90(t(a), 3), np.rot90(a, 3)),
            (torch.vstack([t(a), t(v)]), np.vstack([a, v])),
            (torch.hstack([t(a), t(b)]), np.hstack([a, b])),
            (torch.dstack([t(a), t(b)]), np.dstack([a, b])),
            (torch.column_stack([t(v), t(a.T)]), np.column_stack([v, a.T])),
            (torch.linalg.vander(t(v), N=3), np.vander(v, 3, increasing=True)),
            (torch.gradient(t(a), dim=1)[0], np.gradient(a, axis=1)),
            (torch.gradient(t(a), spacing=(t(v),), dim=1, edge_order=2)[0], np.gradient(a, v, axis=1, edge_order=2)),
            (torch.quantile(t(a), t(np.array([0.1, 0.6])), 1), np.quantile(a, [0.1, 0.6], 1)),
            (torch.quantile(t(a), 0.3), np.quantile(a, 0.3)),
            (torch.quantile(t(a), 0.4, 0, keepdim=True, interpolation="nearest"), np.quantile(a, 0.4, 0, keepdims=True, method="nearest")),
            (torch.addr(t(np.ones((3, 4))), t(a[:, 0]), t(v), beta=2, alpha=3), 2 + 3 * np.outer(a[:, 0], v)),
            (torch.vdot(t(v), t(a[0])), v @ a[0]),
            (torch.dist(t(a), t(b), 3), (np.abs(a - b) ** 3).sum() ** (1 / 3)),
            (torch.cdist(t(a), t(b)), np.linalg.norm(a[:, None] - b[None], axis=-1)),
            (torch.addbmm(t(np.zeros((3, 3))), t(np.stack([a, b])), t(np.stack([a.T, b.T]))), a @ a.T + b @ b.T),
        ):
            close(got, expected)

    def test_masked_reductions(self):
        x, mask = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([[True, False, True], [False, False, False]])
        m = torch.masked
        for name, expected in (("sum", [4, 0]), ("prod", [3, 1]), ("amax", [3, -INF]), ("amin", [1, INF]), ("argmax", [2, 0]), ("mean", [2, NAN]),
                               ("median", [1, NAN]), ("logsumexp", [np.log(np.exp(1) + np.exp(3)), -INF]), ("var", [2, NAN])):  # fmt: skip
            np.testing.assert_allclose(getattr(m, name)(x, 1, mask=mask).numpy(), expected, rtol=1e-6, err_msg=name)
        close(m.norm(x, 2, 1, mask=mask), [10**0.5, 0], 1e-6)
        self.assertEqual(m.cumsum(x, 1, mask=mask)[0].tolist(), [1, 1, 4])
        self.assertEqual(m.softmax(x, 1, mask=mask)[0, 1].item(), 0)

    def test_numbers_by_products_and_lengths(self):
        x = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
        close(torch.renorm(x, 2, 0, 1.0), [[0.6, 0.8], [0.3, 0.4]], 1e-6)
        close(torch.pdist(x), [(2.7**2 + 3.6**2) ** 0.5], 1e-6)
        close(torch.mvlgamma(torch.tensor([2.5]), 2), [0.5 * np.log(np.pi) + 0.2846828704729192 + 0.0], 1e-6)
        close(torch.cumulative_trapezoid(x, dim=1), [[3.5], [0.35]], 1e-6)
        close(torch.cumulative_trapezoid(x, x), [[3.5], [0.035]], 1e-6)
        self.assertEqual(torch._safe_softmax(torch.tensor([[-INF, -INF], [0.0, 0.0]]), -1).tolist(), [[0, 0], [0.5, 0.5]])

    def test_nan_spoils_quantiles_unless_it_is_left_out(self):
        x = torch.tensor([[1.0, NAN, 3.0], [4.0, 5.0, 9.0]])
        np.testing.assert_array_equal(torch.quantile(x, 0.5, 1).numpy(), [NAN, 5.0])
        np.testing.assert_array_equal(torch.nanquantile(x, 0.5, 1).numpy(), [2.0, 5.0])
        for call in (
            lambda: torch.quantile(x, 1.5),
            lambda: torch.quantile(x, 0.5, interpolation="x"),
            lambda: torch.quantile(torch.ones(2, dtype=torch.int64), 0.5),
        ):
            with self.assertRaises(RuntimeError):
                call()

    def test_windows(self):
        w = torch.signal.windows
        for name, expected in (("hann", np.hanning(7)), ("hamming", np.hamming(7)), ("blackman", np.blackman(7)), ("bartlett", np.bartlett(7))):
            close(getattr(w, name)(7, dtype=torch.float64), expected)
            close(getattr(w, name)(6, sym=False, dtype=torch.float64), expected[:-1])
        close(w.kaiser(7, beta=5.0, dtype=torch.float64), np.kaiser(7, 5.0))
        close(w.cosine(2), [0.7071067811865476] * 2, 1e-6)
        close(w.exponential(4, center=1.0, sym=False), np.exp(-np.abs(np.arange(4) - 1.0)), 1e-6)
        for make in (w.bartlett, w.gaussian, w.exponential):  # positions count from both ends, as PyTorch's do
            for n in range(2, 60):
                self.assertEqual(make(n).tolist(), make(n).flip(0).tolist())
        for call in (lambda: w.hann(-1), lambda: w.hann(3, dtype=torch.int32), lambda: w.gaussian(3, std=0.0), lambda: w.exponential(3, center=1.0)):
            with self.assertRaises(ValueError):
                call()


class Places(unittest.TestCase):
    def test_writing_by_places_differentiates(self):
        x = torch.arange(12.0).view(3, 4)
        source = torch.tensor([[10.0, 20.0, 30.0, 40.0], [50.0, 60.0, 70.0, 80.0]], requires_grad=True)
        index = torch.tensor([2, 0])
        y = torch.index_copy(x, 0, index, source)
        self.assertEqual(y[0].tolist() + y[2].tolist(), [50, 60, 70, 80, 10, 20, 30, 40])
        (y * x).sum().backward()
        self.assertEqual(source.grad.tolist(), [[8, 9, 10, 11], [0, 1, 2, 3]])
        self.assertEqual(torch.index_fill(x, 1, torch.tensor([0, -1]), 7)[1].tolist(), [7, 5, 6, 7])
        self.assertEqual(x.take(torch.tensor([[0, -1], [5, 5]])).tolist(), [[0, 11], [5, 5]])
        self.assertEqual(x.put(torch.tensor([0, 0, 5]), torch.tensor([1.0, 2.0, 3.0]), accumulate=True)[:2].tolist(), [[3, 1, 2, 3], [4, 8, 6, 7]])
        mask = torch.tensor([True, False, True, True])
        values = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        filled = torch.zeros(4).masked_scatter(mask, values)
        self.assertEqual(filled.tolist(), [1, 0, 2, 3])
        (filled * torch.arange(4.0)).sum().backward()
        self.assertEqual(values.grad.tolist(), [0, 2, 3, 0])

    def test_reductions_by_places(self):
        x, src = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([5.0, 0.0, 4.0, 4.0], requires_grad=True)
        index = torch.tensor([0, 1, 1, 2])
        for reduce, expected, to_x, to_src in (("sum", [6, 6, 7], [1, 1, 1], [1, 1, 1, 1]), ("prod", [5, 0, 12], [5, 0, 4], [1, 8, 0, 3]),
                                               ("amax", [5, 4, 4], [0, 0, 0], [1, 0, 1, 1]), ("amin", [1, 0, 3], [1, 0, 1], [0, 1, 0, 0]),
                                               ("mean", [3, 2, 3.5], [0.5, 1 / 3, 0.5], [0.5, 1 / 3, 1 / 3, 0.5])):  # fmt: skip
            x.grad = src.grad = None
            y = x.scatter_reduce(0, index, src, reduce)
            y.sum().backward()
            close(y, expected, 1e-6)
            close(x.grad, to_x, 1e-6)
            close(src.grad, to_src, 1e-6)
            if reduce != "sum":
                close(x.index_reduce(0, index, src, reduce), expected, 1e-6)
        self.assertEqual(x.scatter_reduce(0, index, src, "sum", include_self=False).tolist(), [5, 4, 4])

    def test_a_detached_copy_has_memory_of_its_own(self):
        x = torch.arange(6.0, requires_grad=True).view(2, 3).t()
        y = torch.detach_copy(x)
        self.assertEqual((y.tolist(), y.requires_grad), (x.tolist(), False))
        y.zero_()
        self.assertEqual(x.sum().item(), 15)

    def test_views_written_over_a_copy(self):
        x = torch.zeros(3, 3)
        self.assertEqual(torch.diagonal_scatter(x, torch.ones(3)).tolist(), np.eye(3).tolist())
        self.assertEqual(torch.select_scatter(x, torch.ones(3), 0, 1).sum(1).tolist(), [0, 3, 0])
        self.assertEqual(torch.slice_scatter(x, torch.ones(2, 3), 0, 1).sum(1).tolist(), [0, 3, 3])
        self.assertEqual(torch.as_strided_scatter(x, torch.ones(2), (2,), (4,), 1).flatten().tolist(), [0, 1, 0, 0, 0, 1, 0, 0, 0])
        self.assertEqual(x.sum().item(), 0)
        with self.assertRaises(RuntimeError):
            torch.select_scatter(x, torch.ones(2), 0, 1)
        y = torch.transpose_copy(torch.arange(6).view(2, 3), 0, 1)
        self.assertEqual((y.tolist(), y.stride()), ([[0, 3], [1, 4], [2, 5]], (2, 1)))

    def test_copies_are_their_views_apart(self):
        x = torch.arange(12.0).view(3, 1, 4)
        for name, args in (("as_strided", ((2, 3), (4, 1), 1)), ("diagonal", (0, 0, 2)), ("expand", ((3, 2, 4),)), ("permute", ((2, 0, 1),)), ("squeeze", ()),
                           ("squeeze", (1,)), ("squeeze", ((1, 2),)), ("transpose", (0, 2)), ("unfold", (2, 2, 1)), ("unsqueeze", (0,)), ("view", ((4, 3),)),
                           ("view", (torch.int32,)), ("select", (0, 1)), ("narrow", (2, 1, 2)), ("detach", ())):  # fmt: skip
            copy, view = getattr(torch, name + "_copy")(x, *args), getattr(x, name)(*args)
            self.assertEqual((copy.tolist(), copy.dtype, copy.is_contiguous()), (view.tolist(), view.dtype, True), name)
            self.assertNotEqual(copy.data_ptr(), view.data_ptr())
        self.assertEqual(torch.alias_copy(x).tolist(), x.tolist())
        self.assertEqual(torch.slice_copy(x, 2, 1, 4, 2).tolist(), x[:, :, 1:4:2].tolist())
        self.assertEqual(torch.t_copy(x[:, 0]).tolist(), x[:, 0].t().tolist())
        for name, args in (("unbind", (2,)), ("split", (2, 2)), ("split_with_sizes", ([1, 3], 2))):
            copies, views = getattr(torch, name + "_copy")(x, *args), getattr(x, name)(*args)
            self.assertEqual([c.tolist() for c in copies], [v.tolist() for v in views])
        out = [torch.empty(0), torch.empty(0)]
        torch.split_with_sizes_copy(x, [1, 3], 2, out=out)
        self.assertEqual([t.tolist() for t in out], [x[:, :, :1].tolist(), x[:, :, 1:].tolist()])
        self.assertEqual(torch.fill(x, 2).sum().item(), 24)
        self.assertEqual(torch.fill(x, torch.tensor(3.0)).sum().item(), 36)

    def test_joining_and_splitting(self):
        a, v = np.arange(24.0).reshape(2, 3, 4), np.arange(3)
        t = torch.from_numpy
        for n, f in ((1, torch.atleast_1d), (2, torch.atleast_2d), (3, torch.atleast_3d)):
            for x in (np.array(1.0), v, a[0], a):
                self.assertEqual(f(t(x)).tolist(), getattr(np, f"atleast_{n}d")(x).tolist())
            self.assertEqual([r.dim() for r in f(t(v), t(a))], [max(n, 1), 3])
        for name in ("hsplit", "vsplit", "dsplit"):
            for at in ([1], {"hsplit": 3, "vsplit": 2, "dsplit": 2}[name]):
                self.assertEqual([p.tolist() for p in getattr(torch, name)(t(a), at)], [p.tolist() for p in getattr(np, name)(a, at)])
        with self.assertRaises(RuntimeError):
            torch.hsplit(t(a), 2)
        self.assertEqual(torch.block_diag(t(a[0, :2, :2]), t(v)).tolist(), [[0, 1, 0, 0, 0], [4, 5, 0, 0, 0], [0, 0, 0, 1, 2]])
        self.assertEqual(torch.cartesian_prod(t(v), t(v[:2])).tolist(), [[i, j] for i in v for j in v[:2]])
        self.assertEqual(torch.combinations(t(v)).tolist(), [[0, 1], [0, 2], [1, 2]])
        self.assertEqual(len(torch.combinations(t(v), 2, True)), 6)
        self.assertEqual(torch.diag_embed(t(a[0])).sum(2).tolist(), a[0].tolist())
        self.assertEqual(t(a).ravel().tolist(), a.ravel().tolist())
        self.assertEqual(torch.isreal(torch.tensor([1 + 0j, 1j])).tolist(), [True, False])
        self.assertEqual(t(a).sum_to_size(1, 4).tolist(), a.sum((0, 1))[None].tolist())
        self.assertEqual(torch.channel_shuffle(torch.arange(4).view(1, 4, 1), 2).flatten().tolist(), [0, 2, 1, 3])
        self.assertEqual(torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride(), (12, 1, 3))
        self.assertEqual(torch._chunk_cat([torch.ones(3, 2), torch.ones(2, 1)], 0, 2).tolist(), [[1, 1, 1, 1, 1], [1, 1, 0, 0, 1]])
        for parts, same in (
            (torch.unsafe_chunk(t(a), 2, 2), t(a).chunk(2, 2)),
            (torch.unsafe_split(t(a), 3, 2), t(a).split(3, 2)),
            (torch.unsafe_split_with_sizes(t(a), [1, 3], 2), t(a).split([1, 3], 2)),
        ):
            self.assertEqual([p.tolist() for p in parts], [p.tolist() for p in same])

    def test_places_under_masks(self):
        x, index, mask = torch.arange(5.0), torch.tensor([0, 9, 4]), torch.tensor([True, False, True])
        self.assertEqual(torch._unsafe_masked_index(x, mask, [index], -1).tolist(), [0, -1, 4])
        self.assertEqual(torch._unsafe_masked_index_put_accumulate(x, mask, [index], torch.ones(3)).tolist(), [1, 1, 2, 3, 5])
        self.assertEqual(torch.nonzero_static(x, size=5, fill_value=-2).tolist(), [[1], [2], [3], [4], [-2]])

    def test_repeating_elements(self):
        x = torch.tensor([[1, 2], [3, 4]])
        self.assertEqual(torch.repeat_interleave(x, 2).tolist(), [1, 1, 2, 2, 3, 3, 4, 4])
        self.assertEqual(torch.repeat_interleave(x, torch.tensor([1, 2]), dim=0).tolist(), [[1, 2], [3, 4], [3, 4]])
        self.assertEqual(torch.repeat_interleave(torch.tensor([2, 0, 1])).tolist(), [0, 0, 2])


class Searching(unittest.TestCase):
    def test_places_in_a_sorted_sequence(self):
        s, v = np.array([1.0, 3.0, 5.0, 7.0]), np.array([[3.0, 6.0], [0.0, 9.0]])
        for right in (False, True):
            expected = np.searchsorted(s, v, "right" if right else "left").tolist()
            self.assertEqual(torch.searchsorted(torch.from_numpy(s), torch.from_numpy(v), right=right).tolist(), expected)
            self.assertEqual(torch.bucketize(torch.from_numpy(v), torch.from_numpy(s), right=right).tolist(), expected)
        self.assertIs(torch.bucketize(torch.tensor(4.0), torch.from_numpy(s).to(torch.float32), out_int32=True).dtype, torch.int32)
        with self.assertRaises(RuntimeError):
            torch.searchsorted(torch.from_numpy(s), torch.from_numpy(v), right=True, side="left")

    def test_counting(self):
        x = np.array([0, 3, 1, 3, 3])
        self.assertEqual(torch.bincount(torch.from_numpy(x), minlength=6).tolist(), np.bincount(x, minlength=6).tolist())
        self.assertEqual(torch.bincount(torch.from_numpy(x), torch.ones(5) / 2).tolist(), [0.5, 0.5, 0, 1.5])
        self.assertEqual(torch.histc(torch.tensor([0.0, 1.0, 1.5, 4.0, 9.0]), 4, 0, 4).tolist(), [1, 2, 0, 1])
        self.assertEqual(torch.isin(torch.tensor([1, 2, 5]), torch.tensor([5, 1, 7])).tolist(), [True, False, True])
        self.assertEqual(torch.isin(torch.tensor([1.0, 2.0]), 2, invert=True).tolist(), [True, False])

    def test_distinct_values(self):
        x = np.random.default_rng(0).integers(0, 4, (6, 2))
        values, inverse, counts = torch.unique(torch.from_numpy(x), return_inverse=True, return_counts=True)
        expected = np.unique(x, return_counts=True)
        self.assertEqual((values.tolist(), counts.tolist()), (expected[0].tolist(), expected[1].tolist()))
        self.assertEqual(values[inverse].tolist(), x.tolist())
        for dim in (0, 1):
            rows, inverse, counts = torch.unique(torch.from_numpy(x), dim=dim, return_inverse=True, return_counts=True)
            expected, _, times = np.unique(x, axis=dim, return_inverse=True, return_counts=True)
            self.assertEqual((rows.tolist(), counts.tolist()), (expected.tolist(), times.tolist()))
            self.assertEqual(rows.index_select(dim, inverse).tolist(), x.tolist())
        runs = torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 2, 1]), return_inverse=True, return_counts=True)
        self.assertEqual([r.tolist() for r in runs], [[1, 2, 1], [0, 0, 1, 1, 1, 2], [2, 3, 1]])
        rows, inverse = torch.unique_consecutive(torch.tensor([[1, 2], [1, 2], [0, 2]]), return_inverse=True, dim=0)
        self.assertEqual((rows.tolist(), inverse.tolist()), ([[1, 2], [0, 2]], [0, 0, 1]))

    def test_quantiles_lie_as_if_the_dimension_had_been_last(self):
        x = torch.from_numpy(random(3, 2, 1, 2))
        chances = torch.tensor([0.2, 0.5], dtype=torch.float64)
        self.assertEqual(torch.quantile(x, 0.5, 0, True).stride(), (4, 2, 2, 1))
        self.assertEqual(torch.nanquantile(x, chances, 1).stride(), (1, 4, 4, 2))
        self.assertEqual(torch.quantile(x, chances, None, True).stride(), (1, 2, 2, 2, 2))

    def test_vander_of_a_number_is_one_row(self):
        self.assertEqual(torch.linalg.vander(torch.tensor(3.0), N=3).tolist(), [[1, 3, 9]])

    def test_rows_that_are_masked_out_have_no_softmax_and_no_gradient(self):
        x = torch.tensor([[-INF, -INF], [0.0, -INF], [1.0, 1.0]]).requires_grad_()
        y = torch.ops.aten._safe_softmax.default(x, 1) if hasattr(torch, "ops") else torch._safe_softmax(x, 1)
        y[:, 0].sum().backward()
        self.assertEqual(y.tolist(), [[0, 0], [1, 0], [0.5, 0.5]])
        self.assertEqual(x.grad.tolist(), [[0, 0], [0, 0], [0.25, -0.25]])

    def test_no_dimensions_have_no_coordinates(self):
        self.assertEqual(torch.unravel_index(torch.tensor(0), ()), ())

    def test_convolutions_take_a_named_padding(self):
        for n in (1, 2, 3):
            y = getattr(torch, f"conv{n}d")(torch.ones(1, 1, *[4] * n), torch.ones(1, 1, *[3] * n), padding="same")
            self.assertEqual(tuple(y.shape[2:]), (4,) * n)

    def test_histogram(self):
        x, w = random(50), np.abs(random(50, seed=1))
        for bins, more in ((7, {}), (5, {"range": (-1.0, 2.0)}), (5, {"density": True})):
            hist, edges = torch.histogram(torch.from_numpy(x), bins, weight=torch.from_numpy(w), **more)
            expected = np.histogram(x, bins, weights=w, **more)
            close(hist, expected[0])
            close(edges, expected[1])
        places = np.array([-1.0, 0.0, 0.5, 3.0])
        found = torch.from_numpy(x).histogram(torch.from_numpy(places))
        close(found.hist, np.histogram(x, places)[0])
        close(found.bin_edges, places)
        self.assertEqual(torch.histogram(torch.tensor([2.0, 2.0]), 4).hist.tolist(), [0, 0, 2, 0])
        self.assertEqual(torch.histogram(torch.tensor([1.0, NAN, 3.0]), 2, range=(1.0, 3.0)).hist.tolist(), [1, 1])
        for call in (
            lambda: torch.histogram(torch.ones(2), 0),
            lambda: torch.histogram(torch.tensor([NAN]), 2),
            lambda: torch.histogram(torch.ones(2), 2, range=(2.0, 1.0)),
        ):
            with self.assertRaises(RuntimeError):
                call()

    def test_histogramdd(self):
        x, w = random(40, 2), np.abs(random(40, seed=1))
        for bins, more in (([3, 4], {}), ([2, 3], {"range": (-1.0, 1.0, -0.5, 2.0)}), ([2, 2], {"density": True})):
            hist, edges = torch.histogramdd(torch.from_numpy(x), bins, weight=torch.from_numpy(w), **more)
            pairs = {"range": np.reshape(more["range"], (2, 2))} if "range" in more else more
            expected = np.histogramdd(x, bins, weights=w, **pairs)
            close(hist, expected[0])
            for mine, other in zip(edges, expected[1]):
                close(mine, other)
        places = [np.array([-1.0, 0.0, 0.5]), np.array([-2.0, 2.0])]
        found = torch.histogramdd(torch.from_numpy(x), [torch.from_numpy(p) for p in places])
        close(found.hist, np.histogramdd(x, places)[0])
        self.assertIsInstance(found.bin_edges, tuple)
        close(found.bin_edges[1], places[1])
        self.assertEqual(torch.histogramdd(torch.from_numpy(x), 3).hist.shape, (3, 3))
        self.assertEqual(torch.histogramdd(torch.ones(0, 2), [1, 2]).hist.tolist(), [[0, 0]])
        y = torch.from_numpy(x)
        for error, call in (
            (RuntimeError, lambda: torch.histogramdd(y, [3])),
            (RuntimeError, lambda: torch.histogramdd(y, [3, 0])),
            (RuntimeError, lambda: torch.histogramdd(y[:, 0], [3])),
            (RuntimeError, lambda: torch.histogramdd(y, [2, 2], range=(0.0, 1.0))),
            (RuntimeError, lambda: torch.histogramdd(y, [2, 2], weight=y[:3, 0])),
            (RuntimeError, lambda: torch.histogramdd(y, [torch.ones(2)] * 2)),
            (NotImplementedError, lambda: torch.histogramdd(y.long(), [2, 2])),
        ):
            with self.assertRaises(error):
                call()

    def test_segments(self):
        x = torch.from_numpy(random(6, 3)).requires_grad_()
        lengths = torch.tensor([2, 0, 3, 1])
        starts = torch.tensor([0, 2, 2, 5, 6])
        of = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
        empty = {"sum": 0, "mean": NAN, "max": -INF, "min": INF, "prod": 1}
        for reduce, function in of.items():
            expected = [
                function(x.detach().numpy()[a:b], axis=0) if b > a else np.full(3, empty[reduce]) for a, b in zip(starts[:-1].tolist(), starts[1:].tolist())
            ]
            close(torch.segment_reduce(x, reduce, lengths=lengths), expected)
            close(torch.segment_reduce(x, reduce, offsets=starts), expected)
            if reduce != "prod":
                self.assertTrue(torch.autograd.gradcheck(lambda y, r=reduce: torch.segment_reduce(y, r, lengths=lengths, initial=0.25), (x,)))
        y = torch.arange(1.0, 7.0)
        for reduce, expected in (("sum", [2, 5, 20]), ("mean", [2, 2.5, 5]), ("min", [2, 1, 2]), ("max", [2, 2, 6]), ("prod", [2, 4, 720])):
            self.assertEqual(torch.segment_reduce(y, reduce, lengths=torch.tensor([0, 2, 4]), initial=2.0).tolist(), expected)
        self.assertEqual(torch.segment_reduce(y, "sum", offsets=torch.tensor([1, 2, 5])).tolist(), [2, 12])
        self.assertEqual(torch.segment_reduce(y.view(2, 3), "sum", lengths=torch.tensor([[2, 1], [0, 3]]), axis=-1).tolist(), [[3, 3], [0, 15]])
        self.assertEqual(torch.segment_reduce(y, "sum", lengths=torch.tensor([2, 3]), unsafe=True).tolist(), [3, 12])
        self.assertEqual(torch.segment_reduce(y.half(), "mean", lengths=torch.tensor([6])).dtype, torch.float16)
        ties = torch.tensor([1.0, 1.0, 0.0]).requires_grad_()
        torch.segment_reduce(ties, "max", lengths=torch.tensor([2, 1]), initial=1.0).sum().backward()
        self.assertEqual(ties.grad.tolist(), [0.5, 0.5, 0])
        for error, wrong in (
            (RuntimeError, {"lengths": torch.tensor([2, 5])}),
            (RuntimeError, {"lengths": torch.tensor([7, -1])}),
            (RuntimeError, {}),
            (RuntimeError, {"indices": torch.tensor([0] * 6)}),
            (RuntimeError, {"lengths": torch.tensor([[6]])}),
            (NotImplementedError, {"lengths": torch.tensor([6.0])}),
        ):
            with self.assertRaises(error):
                torch.segment_reduce(y, "sum", **wrong)
        with self.assertRaises(RuntimeError):
            torch.segment_reduce(y, "median", lengths=torch.tensor([6]))
        with self.assertRaises(NotImplementedError):
            torch.segment_reduce(y.long(), "sum", lengths=torch.tensor([6]))

    def test_hashes_are_exclusive_ors_of_bits(self):
        x = random(5, 3)
        bits = torch.hash_tensor(torch.from_numpy(x), 0)
        self.assertEqual(bits.dtype, torch.uint64)
        self.assertEqual(bits.tolist(), np.bitwise_xor.reduce(x.view(np.uint64), axis=0).tolist())
        self.assertEqual(torch.hash_tensor(torch.tensor([-1], dtype=torch.int8)).item(), 2**64 - 1)
        self.assertEqual(torch.hash_tensor(torch.tensor([1.5, 2.5])).item(), int(np.bitwise_xor.reduce(np.array([1.5, 2.5]).view(np.uint64))))
        self.assertEqual(torch.hash_tensor(torch.ones(2, 3), (0, 1), keepdim=True).shape, (1, 1))
        self.assertEqual(torch.hash_tensor(torch.ones(2, 0), 0).shape, (0,))
        for error, args in (
            (RuntimeError, (torch.ones(0),)),
            (IndexError, (torch.ones(2, 0), 1)),
            (IndexError, (torch.ones(2), 3)),
            (NotImplementedError, (torch.ones(1, dtype=torch.complex64),)),
        ):
            with self.assertRaises(error):
                torch.hash_tensor(*args)
        with self.assertRaises(RuntimeError):
            torch.hash_tensor(torch.ones(2), mode=1)

    def test_old_spellings_of_methods(self):
        self.assertEqual(torch.tensor([2.0]).__rdiv__(1).tolist(), [0.5])
        self.assertEqual(torch.tensor([2.0]).chalf().dtype, torch.complex32)


class Distances(unittest.TestCase):
    """Blocks, remainders of blocks and batches that are broadcast; derivatives by differences and by differentiable ops."""

    def test_cdist_is_the_norm_of_differences(self):
        for dtype, tolerance in ((np.float64, 1e-10), (np.float32, 2e-5)):
            for p in (0, 0.5, 1, 2, 2.5, INF):
                for a, b in ((random(5, 3), random(7, 3, seed=1)), (random(2, 1, 9, 20), random(3, 4, 20, seed=1)), (random(70, 300), random(130, 300, seed=1)),
                             (random(3, 0), random(4, 0))):  # fmt: skip
                    a, b = a.astype(dtype), b.astype(dtype)
                    d = np.abs(a[..., :, None, :] - b[..., None, :, :]).astype(np.float64)
                    expected = d.max(-1, initial=0) if p == INF else (d != 0).sum(-1) if p == 0 else (d**p).sum(-1) ** (1 / p)
                    close(torch.cdist(torch.tensor(a), torch.tensor(b), p) / (1 + torch.tensor(expected)), expected / (1 + expected), tolerance)

    def test_pdist_lists_the_pairs_in_order(self):
        for n, columns in ((1, 3), (2, 3), (70, 17), (200, 5), (0, 3)):
            x = random(n, columns)
            i, j = np.triu_indices(n, 1)
            for p in (1, 2, 3, INF):
                d = np.abs(x[i] - x[j])
                close(torch.pdist(torch.tensor(x), p), d.max(-1, initial=0) if p == INF else (d**p).sum(-1) ** (1 / p), 1e-10)

    def test_gradients_by_kernels_and_by_differentiable_ops_agree_with_differences(self):
        for p in (0.0, 1.0, 1.5, 2.0, 3.0, INF):
            a, b = torch.tensor(random(3, 4), requires_grad=True), torch.tensor(random(2, 5, 4, seed=1), requires_grad=True)
            weights = torch.tensor(random(2, 3, 5, seed=2))
            loss = lambda x, y, p=p, w=weights: (torch.cdist(x, y, p) * w).sum()  # noqa: E731
            first, second = torch.autograd.grad(loss(a, b), (a, b)), torch.autograd.grad(loss(a, b), (a, b), create_graph=True)
            for x, y in zip(first, second, strict=True):
                close(x, y.detach().tolist())
            step = torch.tensor(random(3, 4, seed=3)) * 1e-6
            with torch.no_grad():
                close((loss(a + step, b) - loss(a - step, b)) / 2, (first[0] * step).sum().item(), 1e-9)
            pairs = lambda x, p=p: (torch.pdist(x, p) * weights[0, :, 0]).sum()  # noqa: E731
            close(torch.autograd.grad(pairs(a), a)[0], torch.autograd.grad(pairs(a), a, create_graph=True)[0].tolist())
            with torch.no_grad():
                grad = torch.autograd.functional.vjp(pairs, a)[1] if p else torch.zeros(3, 4)
                close((pairs(a + step) - pairs(a - step)) / 2, (grad * step).sum().item(), 1e-9)

    def test_a_distance_of_zero_has_no_gradient(self):
        for p in (0.5, 1.0, 2.0, 3.0, INF):
            x = torch.ones(2, 3, requires_grad=True)
            torch.cdist(x, torch.ones(4, 3), p).sum().backward()
            torch.pdist(x, p).sum().backward()
            self.assertEqual(x.grad.tolist(), [[0, 0, 0], [0, 0, 0]])


class CumulativeProducts(unittest.TestCase):
    def test_gradients_where_factors_are_zero(self):
        for zeros in ((), (0,), (2,), (1, 3), (0, 1, 2, 3, 4)):
            values = random(2, 5)
            values[0, list(zeros)] = 0
            x, weights = torch.tensor(values, requires_grad=True), torch.tensor(random(2, 5, seed=1))
            plain = torch.autograd.grad((x.cumprod(1) * weights).sum(), x)[0]
            expected = [[sum(weights[r, j].item() * np.prod(np.delete(values[r, : j + 1], k)) for j in range(k, 5)) for k in range(5)] for r in range(2)]
            close(plain, expected)
            close(torch.autograd.grad((x.cumprod(1) * weights).sum(), x, create_graph=True)[0], expected)


class BinarySearch(unittest.TestCase):
    def test_every_length_and_both_sides(self):
        for n in range(20):
            row, values = np.sort(random(n).round(1)), random(50, seed=1).round(1)
            order = np.random.default_rng(2).permutation(n)
            for right in (False, True):
                expected = np.searchsorted(row, values, side="right" if right else "left").tolist()
                self.assertEqual(torch.searchsorted(torch.tensor(row), torch.tensor(values), right=right).tolist(), expected)
                sorter = torch.tensor(np.argsort(order))
                self.assertEqual(torch.searchsorted(torch.tensor(row[order]), torch.tensor(values), right=right, sorter=sorter).tolist(), expected)

    def test_not_a_number_as_in_pytorch(self):
        row, values = torch.tensor([1.0, 2.0, 3.0, 4.0, NAN]), torch.tensor([0.0, 2.0, 3.5, 9.0, NAN])
        self.assertEqual(torch.searchsorted(row, values).tolist(), [0, 1, 5, 5, 5])
        self.assertEqual(torch.searchsorted(row, values, right=True).tolist(), [0, 2, 5, 5, 5])

    def test_boundaries_in_no_order_have_the_place_that_halving_ends_at(self):
        for n in range(1, 40):
            row, values = random(n, seed=n).round(1), random(20, seed=1).round(1)
            for right, search in ((False, bisect.bisect_left), (True, bisect.bisect_right)):
                expected = [search(row.tolist(), value) for value in values.tolist()]
                self.assertEqual(torch.searchsorted(torch.tensor(row), torch.tensor(values), right=right).tolist(), expected)
                self.assertEqual(torch.bucketize(torch.tensor(values), torch.tensor(row), right=right).tolist(), expected)


if __name__ == "__main__":
    unittest.main()
