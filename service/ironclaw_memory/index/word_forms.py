"""English words whose forms a stemmer can't bring together: irregular verbs and plurals.

Data. Each line of a table names a form's headword first; `languages.stem` puts the headword in the place of the form
before it stems, in documents and in queries alike. Left out are forms that are words of their own more often than forms
of another (`lay`, `wound`, `bore`), those of function words, and `go`, which is in every other note and tells nothing.
"""

from __future__ import annotations

from typing import Final


def _headwords(table: str) -> dict[str, str]:
    """Return the headword of each other form in the lines of `table`."""
    lines = (line.split() for line in table.strip().splitlines())
    return {form: head for head, *forms in lines for form in forms}


_IRREGULAR_VERBS: Final = """
arise arose arisen
awake awoke awoken
beat beaten
become became
begin began begun
bend bent
bind bound
bite bit bitten
bleed bled
blow blew blown
break broke broken
breed bred
bring brought
build built
burn burnt
buy bought
catch caught
choose chose chosen
cling clung
come came
creep crept
deal dealt
dig dug
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fling flung
fly flew flown
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
give gave given
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lead led
lean leant
leap leapt
learn learnt
leave left
lend lent
light lit
lose lost
make made
mean meant
meet met
pay paid
prove proven
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shine shone
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
sow sown
speak spoke spoken
spell spelt
spend spent
spill spilt
spin spun
spring sprang sprung
stand stood
steal stole stolen
stick stuck
sting stung
strike struck stricken
strive strove striven
swear swore sworn
sweep swept
swell swollen
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
write wrote written
"""

_IRREGULAR_PLURALS: Final = """
analysis analyses
calf calves
child children
crisis crises
criterion criteria
foot feet
goose geese
half halves
hypothesis hypotheses
index indices
knife knives
leaf leaves
life lives
loaf loaves
man men
matrix matrices
mouse mice
ox oxen
person people
scarf scarves
shelf shelves
thief thieves
tooth teeth
vertex vertices
wife wives
wolf wolves
woman women
"""

FORMS: Final = _headwords(_IRREGULAR_VERBS) | _headwords(_IRREGULAR_PLURALS)
