"""Sparse tensors in files: there and back, from a file of PyTorch's, and damaged ones."""

import base64
import io
import unittest
import zlib

import cresset as torch

from .compressed_test import LAYOUTS, to
from .coo_test import Base, uncoalesced

X = torch.tensor([[0.0, 1.0, 0.0, 4.0], [2.0, 0.0, 3.0, 0.0]])
# torch.save of PyTorch 2.13: {"coo": x.to_sparse(), "bsr": x.to_sparse_bsr((2, 2)), "csc": x.to_sparse_csc()}
FROM_PYTORCH = (
    "c-p0x&vV;E6vx-HV>?cpALU2d5JG?gF0_t+N=ZwbAd2{*&^QXAp)Cl<QDaZlC{J3a)6OuH8OA9+@Z$)V4p%N5f#Jlz&_g*e9GKw*!wejAWLGOE+D#p&t}+^F?ESp&_wDX`>y-6q454Ha"
    "?YRcg5ma%jwfcrNu~Na6%=$H3Q~S{+?%I?-0hC^f5}@ih5UFB^Fd4If>$aCNU2C~fw^vMWz2bV7iLEuyaZ?}#!#vBaSM2(&3a&eADRb4rrd_$|G;j){OM@h4FpSYuAl8H)1LEm6I!wUa"
    "$fqEYPA?@$2#<`ctXhy{NNUzuTU}tErJ#2yLWX1^#WGlLK%bt(aA;mfx}?Xp;IJOkBU{jar&@Jv+p1EdUTV%=v0Q8Ae7#DX4xBJx5W|oGM`}d0))LZer-FBs9`luQ@OZ6Hk70O%Dv)HJ"
    ")FVw8zEh(?j$$}wz({~E)Nc{&DQ07|2~Qg^_8Ep}wqV?VXMMlRo(s>_q}l`KihlKc6OJ43LYld%v0U@;B5@#Lc*)PP32Ex!1at5*hF1(Y$pHm8#Vlv$i5CJ)P$0{I9EQ9Bg#chV7NJ=4"
    "XR*X)k^J2Tnarc4M{a|{z)1{K2Ar-1`JHLPs|K9KaBd5x4VYoe;Z@<a2d78BQk(F)0q6PjO7I2|@4=u^@t!8UN!`B1MBm2njsZFc$S}*?zB^AWk`=i?fjI`0G0YoaaOo+qz~<w<U<nr~"
    "@IC`BVpuZZgH~FXnsC{GD;Pf9f{zR^8=116NdDt)|CA*O(!1QY{)SQCPW@%BI_~ufHa9HSBO6dt6Rk4L(SSex`}?QV8ok>G96`!%z@REjQhlpy*R3_IsRg054|K^zYGC>X{3Q_yX<q|F"
    "XnM!M@=a_xw2CzKOgFl%%dTT=Thv4I?4QTtL?ynjhkkU9>uM8OO+Ebx2E_Q0HqWRqP70pXx$(m{hi1t8Ob6#N-g!<_>F1l%<PPwe85-}#FX+2Lzk}}|ugJ&CYibsCn}0Z;^z7a5yU;H@"
    "ihjFwpneLA-`*c5@8cc(9OwNMHFX>vOrNfSzkI>9>90jg|Na;2zjdKsI=KFBzLK!tVxf5$z3`=-ChzGEK1O*TvZfwI-Rei$tP2YH`up?7)h_nG!uCJK=={_9-t_msbaC!V=lwT;3On(3"
    "`s&2PZooo{D&D)hy4bn@jiLN*1NKwke*c*D6-~`Nq=D>YUY?YTic%=a*<wjilx#MapPH2Ad@(nfD=B$7tCW-}>hkN$nV)ypKjJS{%V+pZ8r<Vt{2eIL;R9%xBR8X{-6<vp2_GUOT#$R="
    "AbU<OF;4g(7~<j>F|_vp67g_1?&t7dV@NnVL^j-cdG@Owfz63*xNGw4A0nF<*>H#B*^lD_TM*fBcjDRqM7Aih;f}(y>j{A^iEOy)d3IZ5Wswb6xG>L2fmK8{T&n~8Jcrmedo)}^WBlIg"
    "MIDN}tjFUgTdg2^D%9Bcrx*0j?cP?4jMM*P(6z(6Ewrrn#2M4?k7r~52cz`TLj"
)


class Files(Base):
    def test_there_and_back(self):
        for weights_only in (True, False):
            saved = {str(layout): to(X, layout) for layout in (torch.sparse_coo, *LAYOUTS)}
            saved["parameter"] = torch.nn.Parameter(X.to_sparse())
            file = io.BytesIO()
            torch.save(saved, file)
            file.seek(0)
            loaded = torch.load(file, weights_only=weights_only)
            for name, tensor in saved.items():
                self.same(loaded[name].detach(), X, tensor.layout)
            self.assertIsInstance(loaded["parameter"], torch.nn.Parameter)
            self.assertTrue(loaded["sparse_coo" if "sparse_coo" in loaded else "torch.sparse_coo"].is_coalesced())
        file = io.BytesIO()
        torch.save(uncoalesced(), file)
        file.seek(0)
        again = torch.load(file)
        self.assertEqual((again.is_coalesced(), again._nnz()), (False, 3))

    def test_from_pytorch(self):
        for weights_only in (True, False):
            loaded = torch.load(io.BytesIO(zlib.decompress(base64.b85decode("".join(FROM_PYTORCH)))), weights_only=weights_only)
            for name, layout in (("coo", torch.sparse_coo), ("bsr", torch.sparse_bsr), ("csc", torch.sparse_csc)):
                self.same(loaded[name], X, layout)

    def test_wrong_positions_in_a_file(self):
        file = io.BytesIO()
        torch.save(torch.sparse_csr_tensor([0, 1, 2], [0, 99], [1.0, 2.0], (2, 2)), file)
        file.seek(0)
        with self.assertRaisesRegex(RuntimeError, "`0 <= col_indices < ncols` is not satisfied"):
            torch.load(file)


if __name__ == "__main__":
    unittest.main()
