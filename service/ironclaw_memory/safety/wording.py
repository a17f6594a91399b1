"""Tables of the wordings that advisories look for: orders where a fact should stand, and matters of the day.

One entry a kind or a language. Patterns are Python's, matched line by line without regard to letter case; the lines are
short, so nothing here needs RE2. Unlike the rules of `rules.toml`, a match refuses nothing.
"""

from __future__ import annotations

import re
from typing import Final

_VERB: Final = (
    r"(?:respond|reply|answer|speak|write|talk|address|use|be|keep|give|ask|call|include|add|avoid|provide|say|send"
    r"|format|explain|check|run|start|end|make|do|show|tell|mention|refer|suggest|recommend|translate|summari[sz]e"
    r"|remember|assume|forget|store|save|prefer|put|set|return|cite|confirm|verify|follow|treat|apologi[sz]e|try|think"
    r"|consider|generate)\b"
)
_HOW: Final = r"(?:only|always|in|with|to|briefly|concisely|as|using|and|when)\b"

ORDERS: Final = (
    rf"(?:please[, ]+)?(?:always|never|do not|don['’]t)[, ]+{_VERB}",
    rf"(?:please[, ]+)?you (?:must|should|have to|need to|shall|may not)(?: always| never| not)? {_VERB}",
    rf"(?:please[, ]+)?(?:be sure to|make sure (?:to|that you)|remember to|ensure (?:that )?you) {_VERB}",
    rf"(?:from now on|in (?:the )?future),?(?: you)?(?: must| should| will)?(?: always| never)?[, ]+{_VERB}",
    rf"(?:please[, ]+)?(?:respond|reply|answer|speak)(?: {_HOW}|[.!]?$)",
    r"(?:please[, ]+)?be (?:concise|brief|polite|formal|informal|honest|short)\b",
    (
        r"(?:请|請)?(?:务必|務必|始终|始終|总是|總是|永远|永遠|切勿|不要|绝不|別|别|必须|必須)"
        r"(?:用|以|使用|回答|回复|回覆|称呼|稱呼|保持|给|給|说|說|写|寫|提|调用|生成|输出)"
    ),
    r"(?:常に|必ず|決して|絶対に).{1,40}(?:してください|して下さい|てください|ないでください|すること|答える)[。.]?$",
    r"(?:항상|반드시|절대).{1,40}(?:하세요|하십시오|해라|답하|마세요|말 것)",
    r"(?:siempre|nunca) (?:responde|contesta|usa|habla|escribe|respondas|uses|hables)",
    r"(?:responda|use|escreva|fale) sempre|(?:sempre|nunca) (?:responda|use|escreva|fale)",
    r"(?:réponds?|répondez|utilise[rz]?|écris|écrivez|parle[rz]?) (?:toujours|jamais)",
    r"ne (?:réponds|répondez|utilise[rz]?) (?:jamais|pas)",
    r"(?:antworte|antworten sie|verwende|schreibe?|benutze|sprich) (?:immer|nie|niemals|stets|kurz|nur)",
    r"(?:всегда|никогда не) (?:отвечай|используй|пиши|говори|обращайся)(?:те)?",
)
"""How a line begins that tells the assistant what to do."""

_DEED: Final = (
    r"(?:finish|fix|complet|merg|deploy|releas|push|test|implement|debug|start|work|refactor)(?:e?d|ing|s)?|did|done|made"
    r"|ran|wrote"
)
_DAY: Final = r"(?:today|tonight|yesterday|just now|this (?:morning|afternoon|evening|session))"

PASSING: Final = (
    r"\b(?:pr|mr|pull request|merge request|issue|ticket|bug)s?\s{0,3}(?:#|no\.?\s|number\s)?\s?\d{1,7}\b",
    r"(?<![\w#&/])#\d{2,7}\b",
    r"\b(?:commit|sha|revision|rev|changeset|hash)\b[\s:#`(]{1,4}[0-9a-f]{7,40}\b",
    r"(?<![\w/#.-])(?=[0-9a-f]{0,39}[a-f])(?=[0-9a-f]{0,39}\d)(?:[0-9a-f]{40}|[0-9a-f]{7,12})(?![\w/.-])",
    rf"\b{_DAY}\b[^.\n]{{0,40}}\b(?:i|we|have|has|was|were|{_DEED})\b",
    rf"\b(?:i|we)(?:'ve| have)? (?:just |now )?(?:{_DEED})\b[^.\n]{{0,60}}\b{_DAY}\b",
    r"\b(?:all tests pass(?:ed)?|tests are (?:green|passing)|work in progress|wip:|next step is to)(?:\b|$)",
    r"\bcurrently (?:working on|debugging|fixing|implementing)\b",
    r"(?:今天|刚刚|剛剛|刚才|昨天)[^。\n]{0,10}(?:完成|修复|修復|提交|合并|合併|部署|发布|發布|实现|重构)",
    r"(?:今日|さっき|昨日)[^。\n]{0,12}(?:完了|修正|マージ|デプロイ|終わ)",
    r"(?:오늘|방금|어제)[^.\n]{0,12}(?:완료|수정|병합|배포|끝)",
)
"""What a line holds that will mean nothing in a month."""

ORDER: Final = re.compile("|".join(ORDERS), re.IGNORECASE)
PASSING_THING: Final = re.compile("|".join(PASSING), re.IGNORECASE)
LEAD: Final = re.compile(r"^(?:[\s>#*_+\-•–—]|\d{1,3}[.)]\s|\[[ xX]\])+")
"""Bullets, numbers, tick boxes and emphasis before a line's first word."""
