"""Words on screen in English and Chinese: one table for widgets, explorer and report.

The English words are the keys, so that code reads as the screen does. What dumps, graphs and findings say is
theirs and is not translated.
"""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]

LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}
"""Language → its name in itself."""

CHINESE: dict[str, str] = {
    # the workbench
    "Accuracy workbench": "精度工作台",
    "Language": "语言",
    # steps
    "Configure": "配置",
    "Run": "运行",
    "Align": "对齐",
    "Divergence": "差异",
    "Operator": "算子",
    "Source": "源码",
    "Report": "报告",
    "to do": "待办",
    "ready": "就绪",
    "running": "运行中",
    "done": "完成",
    "cancelled": "已取消",
    "failed": "失败",
    # run
    "graph": "网络",
    "device": "设备",
    "precision mode": "精度模式",
    "default of the device": "设备默认",
    "faults": "故障",
    "iterations": "迭代数",
    "seed": "随机种子",
    "ranks": "卡数",
    "progress": "进度",
    "Run comparison": "运行比对",
    "Cancel run": "取消运行",
    "Copy as code": "复制为代码",
    "The code": "代码",
}
"""English → Chinese."""


def translate(text: str, language: Language) -> str:
    """Return words of the screen in a language; English where the table has none.

    >>> translate("Run", "zh"), translate("Run", "en")
    ('运行', 'Run')
    """
    return CHINESE.get(text, text) if language == "zh" else text
