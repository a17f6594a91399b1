"""Words by which people ask for what they noted in others: "job" where the note says "engineer at".

Data, for English. A line holds words of one subject, by their first forms; a query's word also finds, with less weight,
its companions in the lines it stands in. Not a dictionary of synonyms: a line gathers what the answer to a question
about its subject is likely to say. What is rare enough to be asked for by its name isn't here.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from .languages import stem

_SUBJECTS: Final = """
job work career occupation profession employer employed company position role
boss manager supervisor
colleague coworker teammate
salary wage income pay earn
hire recruit
fire layoff dismiss resign quit
study degree major graduate university college school course
student pupil
teacher professor instructor tutor mentor coach
exam test
subject topic theme
learn study practice
live reside home house apartment flat address
hometown grow born raise
move relocate
neighbor neighbour neighborhood
country nation abroad
city town village
visit trip travel vacation holiday journey tour
flight fly plane airport airline
train railway station
car vehicle drive
bike bicycle cycle
hotel accommodation hostel stay
beach sea ocean coast
mountain hill peak
hike trail walk trek
camp tent campfire
forest woods
outdoors nature park
food eat meal dish cook recipe cuisine
breakfast lunch dinner supper meal
restaurant cafe diner
drink beverage tea coffee
dessert cake sweet cookie chocolate
vegetarian vegan
allergy allergic intolerant
bake oven bread cake
pet dog cat puppy kitten animal
puppy dog
kitten cat
breed species
name call
family parent mother father mom dad
mother mom mum
father dad
sibling brother sister
child kid son daughter
baby infant newborn
grandparent grandmother grandfather grandma grandpa
spouse husband wife partner
marry marriage wedding husband wife spouse engaged
single divorce separated breakup
date girlfriend boyfriend partner relationship
friend buddy pal mate friendship
birthday born age
anniversary celebrate celebration
party celebrate celebration
pregnant pregnancy baby
adopt adoption
die death pass funeral loss
religion faith church pray belief
health healthy medical doctor illness
doctor physician clinic hospital
hospital surgery operation
sick ill illness disease
injury hurt injured accident
medicine medication drug pill
therapy therapist counseling counselor
stress anxiety stressed anxious
sad upset depressed
happy glad joy excited
afraid fear scared worried
angry mad upset
proud pride
grateful thankful appreciate
calm relax peace peaceful
feel feeling emotion
exercise workout gym fitness
yoga meditation
sport game team play
match game
win prize award trophy medal champion
tournament competition contest
race marathon
soccer football
swim pool
hobby interest pastime enjoy leisure
activity event
music song band concert instrument
instrument guitar piano violin drum
sing song vocal
dance dancer
movie film cinema
show series episode
actor actress
book novel read author
author writer novelist
write writing story poem
poem poetry
paint painting painter art
draw drawing sketch
art artist gallery exhibition museum
photo picture photograph photography image camera
craft pottery sew knit
garden plant flower grow
collect collection
favorite favourite prefer best love
like love enjoy prefer
dislike hate avoid
goal plan aim dream hope
plan intend
decide decision choose choice
reason why because
advice suggest recommend suggestion recommendation tip
recommend suggest recommendation
help support assist
volunteer charity donate shelter
community group organization
meeting conference appointment
conference workshop seminar convention
organize arrange host
speech talk presentation lecture
campaign election politics vote
military army veteran soldier
law legal lawyer attorney court
police crime
money finance budget cost price
buy purchase order shop bought
sell sale
price cost expensive cheap
gift present
bank account loan
invest investment stock
save saving
rent landlord lease tenant
business startup company entrepreneur
store shop market
customer client
product item
clothes clothing wear dress outfit shirt
shoe sneaker boot
jewelry necklace ring bracelet
color colour
size large small
problem issue trouble difficulty challenge
challenge obstacle hurdle difficult
error bug failure fault crash
repair fix mend
break broken damage
lose lost missing
cause reason
change modify alter
start begin launch
end finish complete
stop quit cease
increase grow rise
reduce decrease cut lower
improve improvement better
create build make develop
destroy ruin
fail failure
success succeed achieve achievement accomplish
computer laptop pc
phone mobile smartphone cell telephone
email mail message
internet online web website
software program app application
code program programming developer
game videogame console
setting configuration config option
password credential login
database server storage
deploy deployment release
version release
deadline due
schedule calendar timetable
meeting call
document file report paper
language speak fluent
speak talk chat conversation
nationality citizen origin
ethnicity heritage culture
weather rain snow storm sunny
morning dawn sunrise
evening night sunset
season summer winter spring autumn fall
weekend saturday sunday
yearly annual
monthly month
weekly week
daily day
often frequently frequency
long duration length
early earlier
recently lately
quick fast rapid
identity gender
transgender lgbtq gay lesbian queer
symbol meaning represent
inspire inspiration inspired motivate motivation
memory remember remind
learn lesson
experience adventure
surprise unexpected
skill ability talent
quality trait personality character
opinion view think
agree consent
promise commit commitment
meet encounter
invite invitation
join participate attend
receive get
bring carry
give donate
keep retain store retention
remove delete erase
add insert
check verify
allow permit permission
require need must
limit maximum minimum
responsible owner charge
contact phone email reach
insurance policy
key lock
room bedroom kitchen bathroom
furniture chair table desk sofa
roommate flatmate
electricity power energy
heat warm
cold cool
noise loud
clean wash
danger risk dangerous
safe safety secure
secret private confidential
law rule regulation
government state
environment climate pollution
science scientist research
space astronomy star planet
history historical past
future upcoming
"""


@cache
def _by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _SUBJECTS.strip().splitlines():
        stems = {stem(word, "english") for word in line.split()}
        for each in stems:
            found.setdefault(each, set()).update(stems)
    return {each: frozenset(others - {each}) for each, others in found.items()}


def companions_of(word: str) -> frozenset[str]:
    """Return the stems that an English note may hold where a question says the folded `word`."""
    return _by_stem().get(stem(word, "english"), frozenset())
