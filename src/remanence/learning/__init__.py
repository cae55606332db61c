"""Learning for people with photographs: a folder in, the next version of a model out."""

from remanence.learning.course import learn
from remanence.learning.knowledge import Knowledge, Labelled, Lesson
from remanence.learning.pupil import Pupil
from remanence.learning.wishes import Wishes

__all__ = ["Knowledge", "Labelled", "Lesson", "Pupil", "Wishes", "learn"]
