"""What the analysis knows about single languages: function words, stemmers, and which script means which language.

Data and two small look-ups. How text becomes terms is `analysis`; nothing here reads a document.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import snowballstemmer

from .word_forms import FORMS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS: Final[dict[str, frozenset[str]]] = {
    # Folded as `analysis.fold` folds: lower case, no accents. Only words that carry no subject of their own: a name or
    # a noun in this table could no longer be asked for beside other words.
    "english": _words(
        """a about after again all also am an and any are as at be because been before being both but by can could did
        do does doing done down during each else ever few for from further get got had has have having he her here hers
        him his how i if in into is it its just let lets may me might more most must my no nor not now of off on once
        only or other our out over own please same shall she should so some such than that the their them then there
        these they this those through to too under until up upon us very was we were what when where which while who
        whom whose why will with would yes yet you your yours"""
    ),
    "german": _words(
        """aber alle als am an auch auf aus bei bin bis bist da dann das dass dein dem den der des die dies diese dieser
        dir doch du durch ein eine einem einen einer eines er es fur hat hatte ich ihr im in ist ja jetzt kann kein
        keine man mein meine mich mir mit nach nicht noch nur oder ob sehr sein seine sich sie sind so uber um und uns
        unser vom von vor war waren was welche welchen welcher welches wenn wer werden wie wird wo wurde zu zum
        zur"""
    ),
    "french": _words(
        """a ai au aux avec c ce ces cette chez comme d dans de des du elle elles en est et ete etait il ils j je l la
        le les leur lui m ma mais me mes moi mon n ne nos notre nous on ont ou par pas plus pour qu quand que quel
        quelle quels qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tu un une vos votre vous y"""
    ),
    "spanish": _words(
        """a al algo como con cual cuando de del desde donde el ella ellos en entre era es esa ese eso esta este esto
        fue ha han hasta hay la las le les lo los mas me mi mis muy no nos o para pero por porque que quien se ser si
        sin sobre son su sus te tiene tu tus un una uno y ya yo"""
    ),
    "italian": _words(
        """a ad ai al alla alle anche c che chi ci come con cosa d da dal dalla degli dei del della delle di dove e ed
        era gli ha hanno ho i il in io l la le lei lo loro lui ma mi mia mio ne nel nella noi non o per piu qual quale
        quando quello questa questo se si sono su sua sul suo ti tra tu tuo un una uno voi"""
    ),
    "portuguese": _words(
        """a ao aos as com como da das de dela dele do dos e ela ele em entre era essa esse esta este eu foi ha isso ja
        la lhe mais mas me meu meus minha na nao nas no nos o onde os ou para pela pelo por qual quando que quem se sem
        ser seu seus sua sao tem te tu um uma voce"""
    ),
    "dutch": _words(
        """aan al als bij dan dat de der deze die dit door een en er geen had heb hebben heeft het hij hoe ik in is je
        kan maar me met mijn naar niet nog nu of om onder ons ook op over te tot u uit van veel voor waar wat we welke
        werd wie wij zal ze zich zijn zo"""
    ),
    "swedish": _words(
        """alla att av blev bli da de dem den denna det detta dig din du efter ej eller en er ett fran for ha hade han
        hans har hon hur i inte jag kan man med men mig min mitt mot nar nu och om oss pa sa sig sin ska som till under
        upp ut vad var vart vem vi vid vilken"""
    ),
    "russian": _words(
        """а без был была были было быть в вам вас все вы где да для до его ее если есть еще же за и из или им их к как
        какая какие какой когда кого кто ли меня мне мой мы на над нам нас не него нее нет ни но о об он она они от по
        под при с со так то ты у уже чем что чтобы это этот я"""
    ),
}

LATIN_LANGUAGES: Final = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish")

_CLAIMS: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(language for language in LATIN_LANGUAGES if word in FUNCTION_WORDS[language])
    for word in frozenset().union(*(FUNCTION_WORDS[language] for language in LATIN_LANGUAGES))
}
"""Which languages a function word speaks for."""

_SCRIPTS: Final[tuple[tuple[str, str, str], ...]] = (
    # first character, last character, language that is plain from the script
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0531", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)


def is_function_word(word: str) -> bool:
    """Tell whether the folded `word` is a function word of English or Russian, the languages assumed unasked."""
    return word in FUNCTION_WORDS["english"] or word in FUNCTION_WORDS["russian"]


def language_of_script(character: str) -> str | None:
    """Return the language to assume for a word that starts with `character`; None where the script doesn't tell."""
    if character < "\u0370":
        return None
    return next((language for first, last, language in _SCRIPTS if first <= character <= last), None)


def guess_language(words: Iterable[str], default: str) -> str:
    """Return the Latin-script language whose function words prevail among folded `words`.

    Args:
        words: folded words in any order.
        default: what to answer unless another language has three function words and twice as many as `default`.
    """
    counts = Counter(language for word in words for language in _CLAIMS.get(word, ()))
    best, count = max(counts.items(), key=lambda item: item[1], default=(default, 0))
    return best if count >= 3 and count >= 2 * counts[default] else default


@lru_cache(maxsize=30_000)
def stem(word: str, language: str) -> str:
    """Return the stem of the folded `word`. Pure; cached because a stemmer costs ten times what the rest does."""
    script = language_of_script(word[0])
    if len(word) < 3 or not word.isalpha():
        return word
    if language == "english":
        word = FORMS.get(word, word)
    return str(_stemmers.of(script or language).stemWord(word))


class _Stemmers(threading.local):
    """The stemmers of one thread: each keeps the word it works on, so that two threads would spoil each other's."""

    def __init__(self) -> None:
        self._by_language: dict[str, snowballstemmer.stemmer] = {}

    def of(self, language: str) -> snowballstemmer.stemmer:
        """Return the stemmer of a language."""
        found = self._by_language.get(language)
        if found is None:
            found = self._by_language[language] = snowballstemmer.stemmer(language)
        return found


_stemmers: Final = _Stemmers()
