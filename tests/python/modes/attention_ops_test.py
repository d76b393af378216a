"""Operators of attention under the names that dispatch modes see."""

import unittest

import cresset as torch


class FlashAttention(unittest.TestCase):
    def test_dropout_is_refused(self):
        q = torch.ones(1, 1, 2, 4)
        with self.assertRaisesRegex(RuntimeError, "dropout_p"):
            torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q, 0.5)

    def test_without_dropout_it_is_attention(self):
        q, k = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4)
        out, _ = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, k)
        torch.testing.assert_close(out, torch.nn.functional.scaled_dot_product_attention(q, k, k))


if __name__ == "__main__":
    unittest.main()
