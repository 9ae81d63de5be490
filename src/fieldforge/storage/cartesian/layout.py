"""Counterpart of `gt4py.storage.cartesian.layout`."""

from ...runtime.storage.layout import LayoutInfo, layout_checker_factory, layout_maker_factory

__all__ = ["LayoutInfo", "layout_checker_factory", "layout_maker_factory"]
